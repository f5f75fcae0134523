/* tclab: a chain's linked panes. The page can be read without it.
   A line is known by its number across all panes, from 0. An element is made for each line of
   machine code when it is first needed; classes change only where the selection does. */
(function () {
  "use strict";
  const LINE = "[data-line]";
  const MOST_OPEN = 400; // lines that a column unfolds by itself

  // ------------------------------------------------------------------ which lines are joined

  function undo(distances) {
    let at = 0;
    return distances.map((d) => (at += d));
  }

  class Index {
    constructor(data) {
      const total = data.counts.reduce((a, b) => a + b, 0);
      this.sides = [0, 1].map((side) => data.joins.map((join) => undo(join[side])));
      this.of = this.sides.map((lists) => {
        const of = new Array(total);
        lists.forEach((lines, join) => {
          for (const line of lines) (of[line] = of[line] || []).push(join);
        });
        return of;
      });
      this.total = total;
    }

    // Everything reached from `start`: side 1 is what it came from, side 0 what it became.
    walk(start, side, into) {
      const used = new Uint8Array(this.sides[0].length);
      const seen = new Uint8Array(this.total);
      const todo = [start];
      seen[start] = 1;
      while (todo.length) {
        for (const join of this.of[side][todo.pop()] || []) {
          if (used[join]) continue;
          used[join] = 1;
          for (const line of this.sides[1 - side][join]) {
            if (seen[line]) continue;
            seen[line] = 1;
            into[line] = 1;
            todo.push(line);
          }
        }
      }
    }

    closure(line) {
      const into = new Uint8Array(this.total);
      into[line] = 1;
      this.walk(line, 1, into);
      this.walk(line, 0, into);
      return into;
    }
  }

  // ------------------------------------------------------------------------------- one pane

  class Pane {
    constructor(element, start, count) {
      this.element = element;
      this.start = start;
      this.count = count;
      this.first = Number(element.dataset.first || 1);
      this.column = element.closest(".tclab-column");
      this.said = element.querySelector("summary > small");
      this.size = this.said.textContent;
      this.elements = null;
      this.lit = [];
    }

    get shown() { return !this.column.hidden && this.element.open; }

    // Elements of the lines, in order.
    lines() {
      if (!this.elements) {
        const bare = this.element.querySelector(".tclab-bare");
        if (bare) this.build(bare);
        this.elements = Array.from(this.element.querySelectorAll(LINE));
      }
      return this.elements;
    }

    build(bare) {
      const text = bare.textContent.split("\n").slice(0, this.count);
      const parts = document.createDocumentFragment();
      text.forEach((line, i) => {
        const span = document.createElement("span");
        span.dataset.line = i + this.first;
        span.textContent = line + "\n";
        parts.append(span);
      });
      bare.previousElementSibling.remove();
      bare.replaceChildren(parts);
      bare.classList.remove("tclab-bare");
      bare.classList.add("highlight");
    }

    at(line) { return this.lines()[line - this.start]; }
    number(line) { return line - this.start + this.first; }

    light(closure) {
      const next = [];
      for (let i = 0; i < this.count; i++) if (closure && closure[this.start + i]) next.push(i);
      if (!next.length && !this.lit.length) return;
      const lines = this.lines();
      const keep = new Set(next);
      for (const i of this.lit) if (!keep.has(i)) lines[i].classList.remove("linked");
      for (const i of next) lines[i].classList.add("linked");
      this.lit = next;
    }

    say() {
      this.said.textContent = this.lit.length ? this.lit.length + " of " + this.size : this.size;
      this.element.classList.toggle("tclab-reached", this.lit.length > 0);
    }
  }

  // ------------------------------------------------------------------- the reader's choice

  // Storage may be forbidden: in a sandboxed frame, or by the reader.
  function remember(room, stages) {
    try { localStorage.setItem("tclab-stages-" + room, stages.join(" ")); } catch (_) { /* so be it */ }
  }

  function remembered(room) {
    try { return (localStorage.getItem("tclab-stages-" + room) || "").split(" "); } catch (_) { return []; }
  }

  // ------------------------------------------------------------------------------ the chain

  class Chain {
    constructor(root) {
      this.root = root;
      const data = JSON.parse(root.querySelector('script[type="application/json"]').textContent);
      this.index = new Index(data);
      let start = 0;
      this.panes = Array.from(root.querySelectorAll(".tclab-pane"), (element, i) => {
        const pane = new Pane(element, start, data.counts[i]);
        start += data.counts[i];
        return pane;
      });
      this.columns = Array.from(root.querySelectorAll(".tclab-column"));
      this.boxes = Array.from(root.querySelectorAll(".tclab-chooser input"));
      this.said = root.querySelector(".tclab-said");
      this.current = this.pinned = this.previewed = -1;
      this.choose(this.preferred());
      for (const column of this.columns) this.unfold(column);
      root.querySelectorAll("[hidden]").forEach((e) => {
        if (!e.matches(".tclab-column")) e.hidden = false;
      });
      root.classList.add("tclab-live");
      this.listen();
      const first = this.panes.find((p) => p.count);
      this.current = first ? first.start : -1;
      if (first) this.element(this.current).tabIndex = 0;
      this.buildIdly();
    }

    // Panes that are not shown get their lines when there is time.
    buildIdly() {
      const rest = this.panes.filter((pane) => !pane.elements);
      const idle = window.requestIdleCallback || ((f) => setTimeout(() => f(null), 50));
      const next = (deadline) => {
        do {
          if (!rest.length) return;
          rest.shift().lines();
        } while (deadline && deadline.timeRemaining() > 8);
        idle(next);
      };
      idle(next);
    }

    pane(line) {
      return this.panes.find((p) => line >= p.start && line < p.start + p.count);
    }

    element(line) { return this.pane(line).at(line); }

    line(element) {
      const found = element.closest && element.closest(LINE);
      if (!found || !this.root.contains(found)) return -1;
      const own = found.closest(".tclab-pane");
      const pane = this.panes.find((p) => p.element === own);
      return pane.start + Number(found.dataset.line) - pane.first;
    }

    // ---------------------------------------------------------------- which columns are shown

    // How many columns there is room for.
    get room() {
      const wide = this.root.clientWidth;
      return wide >= 1280 ? 4 : wide >= 900 ? 3 : 2;
    }

    // What the reader last chose on a window like this one, as far as it is here; else the usual.
    preferred() {
      const stages = this.columns.map((c) => c.dataset.column);
      const count = this.room;
      const own = remembered(count).filter((stage) => stages.includes(stage));
      if (own.length > 1) return own;
      const wanted = ["python", "kernel", "cpp", "asm", "sass", "forward", "post_grad", "ptx", "dynamo"];
      const picked = wanted.filter((stage) => stages.includes(stage));
      return picked.concat(stages.filter((s) => !picked.includes(s))).slice(0, count);
    }

    choose(stages) {
      this.columns.forEach((column, i) => {
        column.hidden = !stages.includes(column.dataset.column);
        this.boxes[i].checked = !column.hidden;
      });
      const shown = this.columns.filter((c) => !c.hidden).length;
      this.root.style.setProperty("--tclab-shown", Math.max(1, shown));
    }

    chosen() {
      return this.boxes.filter((box) => box.checked).map((box) => box.value);
    }

    // Opens the panes of a column that the selection reaches, else the first; not all if long.
    unfold(column, wanted) {
      if (wanted && wanted.element.open) return; // nothing moves under the pointer
      const panes = this.panes.filter((p) => p.column === column);
      const reached = panes.filter((p) => p.lit.length);
      let room = MOST_OPEN;
      for (const pane of wanted ? [wanted] : reached.length ? reached : panes) {
        if (room === MOST_OPEN || pane.count <= room) {
          pane.element.open = true;
          room -= pane.count;
        } else pane.element.open = false;
      }
      for (const pane of reached.length ? panes : []) if (!pane.lit.length) pane.element.open = false;
    }

    // ----------------------------------------------------------------------------- selection

    light(line) {
      const closure = line < 0 ? null : this.index.closure(line);
      for (const pane of this.panes) { pane.light(closure); pane.say(); }
      this.columns.forEach((column, i) => {
        let lit = 0;
        for (const pane of this.panes) if (pane.column === column) lit += pane.lit.length;
        const output = this.boxes[i].parentElement.querySelector("output");
        output.textContent = lit || "";
        this.boxes[i].parentElement.classList.toggle("tclab-reached", lit > 0);
      });
    }

    preview(line) {
      if (this.pinned >= 0 || line === this.previewed) return;
      this.previewed = line;
      if (this.frame) return;
      this.frame = requestAnimationFrame(() => {
        this.frame = 0;
        if (this.pinned < 0) this.light(this.previewed);
      });
    }

    // First all that changes the page, then all that measures it: one layout in all.
    pin(line, { quiet = false, still = null, focus = false } = {}) {
      const own = this.pane(line);
      this.pinned = this.previewed = line;
      this.light(line);
      this.root.classList.add("dimmed");
      if (own.column.hidden) this.choose(this.chosen().concat(own.column.dataset.column));
      for (const column of this.columns) this.unfold(column, column === own.column && own);
      this.tell(line);
      this.move(line, focus);
      this.scroll(still);
      if (!quiet) this.address(this.anchor(line));
    }

    clear() {
      if (this.pinned >= 0) this.address("");
      this.pinned = this.previewed = -1;
      this.root.classList.remove("dimmed");
      this.said.textContent = "";
      this.light(-1);
    }

    anchor(line) {
      const pane = this.pane(line);
      return pane.element.id + "-L" + pane.number(line);
    }

    address(anchor) {
      const url = location.pathname + location.search + (anchor ? "#" + anchor : "");
      try { history.replaceState(history.state, "", url); } catch (_) { /* a sandboxed frame */ }
    }

    tell(line) {
      const counts = this.boxes.map((box) => box.parentElement)
        .filter((label) => label.classList.contains("tclab-reached"))
        .map((label) => label.querySelector("strong").textContent + " " + label.querySelector("output").textContent);
      const pane = this.pane(line);
      const name = pane.element.querySelector("summary > strong").textContent;
      this.said.textContent = name + ", line " + pane.number(line) + ". Linked lines: " + counts.join(", ");
    }

    // Brings the first linked line of each column into view: all measured, then all moved.
    scroll(still) {
      const moves = [];
      for (const column of this.columns) {
        const lit = this.panes.filter((p) => p.column === column && p.shown && p.lit.length);
        const own = lit.find((p) => p === this.pane(this.pinned));
        if (!lit.length || (own && own === still)) continue;
        const pane = own || lit[0];
        const line = own ? own.at(this.pinned) : pane.elements[pane.lit[0]];
        const box = column.getBoundingClientRect();
        const head = pane.element.firstElementChild.offsetHeight;
        const at = line.getBoundingClientRect();
        if (at.top >= box.top + head && at.bottom <= box.bottom) continue;
        moves.push([column, column.scrollTop + at.top - box.top - head - box.height / 5]);
      }
      for (const [column, top] of moves) column.scrollTop = top;
    }

    // ------------------------------------------------------------------------------ keyboard

    // Makes `line` the one that Tab reaches.
    move(line, focus) {
      const next = this.element(line);
      const old = this.current >= 0 && this.current !== line ? this.element(this.current) : null;
      this.current = line;
      next.tabIndex = 0;
      next.classList.add("tclab-current");
      next.classList.toggle("tclab-alone", !this.index.of.some((side) => side[line]));
      if (old) old.classList.remove("tclab-current");
      if (focus) next.focus({ preventScroll: true });
      if (old) old.removeAttribute("tabindex"); // no longer focused: costs nothing
    }

    // A step by key: the line is brought into view and previewed.
    step(line) {
      this.move(line, true);
      this.element(line).scrollIntoView({ block: "nearest", inline: "nearest" });
      this.preview(line);
    }

    beside(by) {
      const shown = this.panes.filter((p) => p.shown && p.count);
      const pane = shown[shown.indexOf(this.pane(this.current)) + by];
      if (!pane) return this.current;
      return pane.start + (pane.lit.length ? pane.lit[0] : 0);
    }

    key(event) {
      if (event.key === "Escape") { this.clear(); return true; }
      if (event.ctrlKey || event.metaKey || event.altKey || this.line(event.target) < 0) return false;
      const pane = this.pane(this.current);
      const last = pane.start + pane.count - 1;
      const to = {
        ArrowUp: () => Math.max(pane.start, this.current - 1),
        ArrowDown: () => Math.min(last, this.current + 1),
        ArrowLeft: () => this.beside(-1),
        ArrowRight: () => this.beside(1),
        Home: () => pane.start,
        End: () => last,
      }[event.key];
      if (to) { this.step(to()); return true; }
      if (event.key !== "Enter" && event.key !== " ") return false;
      this.toggle(this.current);
      return true;
    }

    toggle(line) {
      if (line === this.pinned) this.clear();
      else this.pin(line, { still: this.pane(line), focus: true });
    }

    listen() {
      const root = this.root;
      root.addEventListener("click", (event) => {
        if (event.target.closest("a, summary, input, label")) return;
        const line = this.line(event.target);
        const selected = window.getSelection();
        if (line < 0 || (selected && !selected.isCollapsed)) return;
        this.toggle(line);
      });
      root.addEventListener("pointerover", (event) => {
        if (event.pointerType !== "touch") this.preview(this.line(event.target));
      });
      root.addEventListener("pointerleave", () => this.preview(-1));
      root.addEventListener("keydown", (event) => {
        if (this.key(event)) event.preventDefault();
      });
      root.addEventListener("focusin", (event) => {
        const line = this.line(event.target);
        if (line >= 0 && line !== this.current) this.move(line, false);
      });
      root.addEventListener("change", () => {
        this.choose(this.chosen());
        remember(this.room, this.chosen());
        if (this.pinned >= 0) this.scroll();
      });
      root.addEventListener("toggle", (event) => {
        const pane = this.panes.find((p) => p.element === event.target);
        if (pane && pane.element.open && pane.lit.length) this.scroll();
      }, true);
    }

    // A link to a pane, or to a line of one.
    visit(anchor) {
      const match = /^(.*?)(?:-L(\d+))?$/.exec(anchor);
      const pane = this.panes.find((p) => p.element.id === match[1]);
      if (!pane) return;
      const line = match[2] === undefined ? -1 : pane.start + Number(match[2]) - pane.first;
      this.choose(this.chosen().concat(pane.column.dataset.column));
      this.unfold(pane.column, pane);
      if (line >= pane.start && line < pane.start + pane.count) this.pin(line, { quiet: true });
      this.root.scrollIntoView({ block: "start" });
    }
  }

  // ---------------------------------------------------------------------------------- page

  const chains = new Map();

  function visit() {
    const anchor = location.hash.slice(1); // ids are plain letters: nothing to decode
    if (anchor) chains.forEach((chain) => chain.visit(anchor));
  }

  function start() {
    document.querySelectorAll(".tclab-chain").forEach((root) => {
      if (!chains.has(root)) chains.set(root, new Chain(root));
    });
    visit();
  }

  window.addEventListener("hashchange", visit);
  if (window.document$ && window.document$.subscribe) window.document$.subscribe(start);
  else if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
