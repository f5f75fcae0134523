// ------------------------------------------------------------------------------- the chain

const MOST_OPEN = 400; // lines that a column unfolds by itself
const COLOURS = 8; // --tclab-source-0 … 7 in chain.css
const NARROW = matchMedia("(max-width: 44.99em)"); // a phone: Python, and one stage in front

class Chain {
  constructor(root) {
    this.root = root;
    this.data = JSON.parse(root.querySelector('script[type="application/json"]').textContent);
    this.index = new Index(this.data);
    this.all = this.wrapped = false;
    let start = 0;
    this.panes = Array.from(root.querySelectorAll(".tclab-pane"), (element, i) => {
      const pane = new Pane(element, start, this.data.counts[i]);
      pane.onlines = () => this.watch(pane);
      start += pane.count;
      return pane;
    });
    this.columns = Array.from(root.querySelectorAll(".tclab-column"), (element) =>
      new Column(element, this.panes.filter((p) => element.contains(p.element)), this));
    this.boxes = Array.from(root.querySelectorAll(".tclab-chooser input"));
    this.said = root.querySelector(".tclab-said");
    this.help = this.said.textContent;
    this.tip = new Tip(root);
    this.current = this.pinned = this.previewed = -1;
    this.byHand = false; // whether the reader chose the stages
    this.had = this.room();
    this.choose(this.preferred());
    this.widen();
    for (const column of this.columns) column.unfold();
    const first = this.panes.find((p) => p.count && p.pre);
    if (first) this.move(first.start, false);
    this.linkButton = this.makeLinkButton();
    root.toggleAttribute("data-live", true);
    this.listen();
    whenIdle(() => this.know());
    this.near();
  }

  pane(line) { return this.panes.find((p) => p.has(line)); }
  element(line) { return this.pane(line).at(line); }

  // The line that an element is in, or -1.
  line(element) {
    const found = element.closest && element.closest("t-l");
    if (!found || !this.root.contains(found)) return -1;
    const pane = this.panes.find((p) => p.element.contains(found));
    return pane.lines() && pane.start + places.get(found);
  }

  anchor(line) {
    const pane = this.pane(line);
    return pane.element.id + "-L" + pane.number(line);
  }

  // ------------------------------------------------------------------- which text is here, in colour

  // Panes that are open have their text brought once the chain is near the window.
  near() {
    const bring = () => { this.isNear = true; this.bring(); };
    if (!window.IntersectionObserver) { bring(); return; }
    const observer = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();
      bring();
    }, { rootMargin: "50%" });
    observer.observe(this.root);
  }

  // Resolves when every pane that is shown has its lines, to whether any was without.
  async bring() {
    const missing = this.panes.filter((pane) => pane.shown && !pane.elements);
    if (!this.isNear || !missing.length) return false;
    await Promise.all(missing.map((pane) => pane.load()));
    this.mark();
    return true;
  }

  // Which Python line each line is made from: found out when there is time.
  know() {
    const python = this.panes.filter((p) => p.stage === "python");
    const sources = python.flatMap((p) => Array.from({ length: p.count }, (_, i) => p.start + i))
      .filter((line) => this.index.linked(line));
    const owners = this.index.owners(sources);
    const telling = [...new Set(owners.flat())].sort((a, b) => a - b);
    const hue = new Map(telling.map((place, i) => [sources[place], i % COLOURS]));
    this.owners = owners.map((of) => of.map((place) => sources[place]));
    for (const [line] of hue) this.owners[line] = [line];
    this.hue = hue;
    for (const chunk of this.waiting || []) this.seen.observe(chunk);
  }

  // Chunks of lines get their colours when they come into view.
  watch(pane) {
    for (const chunk of pane.chunks) chunk.tclab = pane;
    if (!window.IntersectionObserver) { whenIdle(() => pane.chunks.forEach((c) => this.dress(c))); return; }
    this.seen = this.seen || new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        this.seen.unobserve(entry.target);
        this.dress(entry.target);
      }
    }, { rootMargin: "300px" });
    if (this.hue) for (const chunk of pane.chunks) this.seen.observe(chunk);
    else this.waiting = (this.waiting || []).concat(pane.chunks);
  }

  dress(chunk) {
    const pane = chunk.tclab;
    for (const element of chunk.children) {
      if (pane.machine) colour(element, pane.stage);
      this.own(element, pane, places.get(element));
    }
  }

  // The colours of the Python lines that a line is made from; their numbers where a run begins.
  own(element, pane, i) {
    const owners = (this.owners && this.owners[pane.start + i]) || [];
    if (!owners.length) return;
    const [first, second] = owners.map((line) => `var(--tclab-source-${this.hue.get(line)})`);
    element.style.setProperty("--c", first);
    element.style.setProperty("--d", second || first);
    let before = i - 1;
    while (before >= 0 && pane.noise[before]) before--;
    const numbers = (of) => (of || []).map((line) => this.pane(line).number(line)).join(" ");
    const own = numbers(owners);
    if (pane.stage === "python" || (before >= 0 && numbers(this.owners[pane.start + before]) === own)) return;
    element.dataset.of = numbers([owners[0]]) + (second ? "+" : "");
  }

  // ----------------------------------------------------------------------------- selection

  light(line) {
    const closure = line < 0 ? null : this.index.closure(line);
    for (const pane of this.panes) pane.light(closure);
    this.columns.forEach((column, i) => {
      const lit = column.panes.reduce((sum, pane) => sum + pane.lit.length, 0);
      const label = this.boxes[i].parentElement;
      label.querySelector("output").textContent = lit || "";
      label.toggleAttribute("data-reached", lit > 0);
      column.say();
    });
  }

  preview(line) {
    if (this.pinned >= 0 || line === this.previewed) return;
    this.previewed = line;
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      if (this.pinned >= 0) return;
      this.light(this.previewed);
      this.mark();
    });
  }

  // First all that changes the page, then all that measures it: one layout in all.
  pin(line, { quiet = false, still = null, focus = false } = {}) {
    const own = this.pane(line);
    this.pinned = this.previewed = line;
    this.light(line);
    this.root.toggleAttribute("data-dimmed", true);
    if (!own.column.shown) this.choose(this.chosen().concat(own.column.stage));
    for (const column of this.columns) {
      column.unfold(column === own.column && own);
      column.cursor = column === own.column ? line : (column.lit[0] ?? -1);
      column.say();
    }
    this.reveal(line);
    this.tell(line);
    this.move(line, focus);
    if (own.elements) own.at(line).prepend(this.linkButton);
    this.scroll(still);
    if (!quiet) this.write();
    this.isNear = true;
    this.bring().then((arrived) => {
      if (!arrived || this.pinned !== line) return;
      this.reveal(line);
      this.move(line, focus);
      own.at(line).prepend(this.linkButton);
      this.scroll(still);
    });
  }

  clear() {
    const had = this.pinned >= 0;
    this.pinned = this.previewed = -1;
    if (had) this.write();
    this.root.removeAttribute("data-dimmed");
    this.linkButton.remove();
    this.said.textContent = this.help;
    for (const column of this.columns) column.cursor = -1;
    this.light(-1);
    this.mark();
  }

  // A line that is hidden for being noise is shown when it is chosen.
  reveal(line) {
    const pane = this.pane(line);
    if (!this.all && pane.elements && pane.noise[line - pane.start]) this.setAll(true);
  }

  write() {
    const kept = this.pinned >= 0;
    address.set(kept || this.byHand ? this.chosen() : [], kept ? this.anchor(this.pinned) : "");
  }

  tell(line) {
    const counts = this.boxes.map((box) => box.parentElement)
      .filter((label) => label.hasAttribute("data-reached"))
      .map((label) => label.querySelector("strong").textContent + " " + label.querySelector("output").textContent);
    const pane = this.pane(line);
    const linked = this.index.linked(line) ? "Linked lines: " + counts.join(", ") : "No link is known";
    const known = this.data.help[pane.stage];
    const opcode = this.opcode(line);
    const told = explain(known, opcode);
    this.said.textContent = `${pane.name}, line ${pane.number(line)}. ${linked}.${told && " " + told}`;
    const entry = told && entryLink(pane.stage, known, opcode);
    if (entry) this.said.append(" ", entry);
  }

  // The instruction of a line, where it is one that may be told of.
  opcode(line) {
    const pane = this.pane(line);
    if (!pane.elements || !HELPED.has(pane.stage)) return "";
    const text = pane.texts()[line - pane.start].trimEnd();
    return (pieces(pane.stage, text).find(([name]) => name === "k") || ["", ""])[1];
  }

  // Brings the first linked line of each column to its middle, or that which the reader has gone on
  // to while code was on its way: all measured, then all moved.
  scroll(still) {
    const own = this.pane(this.pinned);
    const moves = [];
    for (const column of this.columns) {
      if (!column.shown || (still && own === still && column === own.column)) continue;
      const line = column.cursor >= 0 ? column.cursor : column.lit[0];
      if (line !== undefined) moves.push([column, column.middle(line)]);
    }
    for (const [column, top] of moves) column.scroller.scrollTop = top;
    this.mark();
  }

  // Marks beside the scrollbars: all measured, then all changed.
  mark() {
    if (this.marking) return;
    this.marking = requestAnimationFrame(() => {
      this.marking = 0;
      const shown = this.columns.filter((column) => column.shown);
      const html = shown.map((column) => column.marks());
      shown.forEach((column, i) => {
        if (column.drawn !== html[i]) column.ruler.innerHTML = column.drawn = html[i];
      });
    });
  }

  // The whole viewer in the window, which it is as tall as at most.
  comeIntoView(smooth) {
    const box = this.root.getBoundingClientRect();
    const top = parseFloat(getComputedStyle(this.root).scrollMarginTop) || 0;
    if (box.top >= top - 1 && box.bottom <= innerHeight + 1) return;
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.root.scrollIntoView({ block: "start", behavior: smooth && !calm ? "smooth" : "instant" });
  }

  // ------------------------------------------------------------------------------ keyboard

  // Makes `line` the one that Tab reaches.
  move(line, focus) {
    const next = this.element(line);
    const old = this.current >= 0 && this.current !== line ? this.element(this.current) : null;
    if (!next) return; // its text is still on the way
    this.current = line;
    next.tabIndex = 0;
    next.classList.add("tclab-current");
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

  // The next line up or down that is not hidden.
  beyond(by) {
    const pane = this.pane(this.current);
    let i = this.current - pane.start + by;
    while (!this.all && pane.noise[i]) i += by;
    return i >= 0 && i < pane.count ? pane.start + i : this.current;
  }

  beside(by) {
    const shown = this.panes.filter((p) => p.shown && p.elements);
    const pane = shown[shown.indexOf(this.pane(this.current)) + by];
    if (!pane) return this.current;
    return pane.start + (pane.lit.length ? pane.lit[0] : 0);
  }

  key(event) {
    if (event.key === "Escape") { this.clear(); return true; }
    if (event.ctrlKey || event.metaKey || event.altKey || this.line(event.target) < 0) return false;
    const pane = this.pane(this.current);
    const column = pane.column;
    const to = {
      ArrowUp: () => this.beyond(-1),
      ArrowDown: () => this.beyond(1),
      ArrowLeft: () => this.beside(-1),
      ArrowRight: () => this.beside(1),
      Home: () => pane.start,
      End: () => pane.start + pane.count - 1,
    }[event.key];
    if (to) { this.step(to()); return true; }
    const act = {
      n: () => column.go(column.lit, 1),
      p: () => column.go(column.lit, -1),
      N: () => column.go(Column.groups(column.lit), 1),
      P: () => column.go(Column.groups(column.lit), -1),
      c: () => this.pinned >= 0 && this.copy(),
      "/": () => column.openFind(true),
      Enter: () => this.toggle(this.current),
      " ": () => this.toggle(this.current),
    }[event.key];
    if (act) act();
    return Boolean(act);
  }

  toggle(line) {
    if (line === this.pinned) { this.clear(); return; }
    this.pin(line, { still: this.pane(line), focus: true });
    this.comeIntoView(true);
  }

  // ------------------------------------------------------------------------------ links, switches

  makeLinkButton() {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "tclab-link";
    button.dataset.do = "copy";
    button.title = "Copy a link to this line";
    button.setAttribute("aria-label", button.title);
    return button;
  }

  async copy() {
    this.write();
    const done = await copied(location.href);
    this.linkButton.dataset.said = done ? "copied" : "the address has it";
    setTimeout(() => delete this.linkButton.dataset.said, 2000);
  }

  setAll(all) {
    this.all = all;
    this.flip("all", "data-all", all);
  }

  setWrapped(wrapped) {
    this.wrapped = wrapped;
    this.flip("wrap", "data-wrapped", wrapped);
    memory.set("wrap", wrapped ? "yes" : "");
  }

  flip(action, name, on) {
    this.root.toggleAttribute(name, on);
    this.root.querySelector(`[data-do="${action}"]`).setAttribute("aria-pressed", on);
    if (this.pinned >= 0) this.scroll();
    else this.mark();
  }

  act(button) {
    const column = this.columns.find((c) => c.element.contains(button));
    const acts = {
      all: () => this.setAll(!this.all),
      wrap: () => this.setWrapped(!this.wrapped),
      copy: () => this.copy(),
      previous: () => column.go(column.lit, -1),
      next: () => column.go(column.lit, 1),
      find: () => column.openFind(button.getAttribute("aria-expanded") !== "true"),
    };
    if (acts[button.dataset.do]) acts[button.dataset.do]();
  }

  // A link to a pane, or to a line of one.
  visit(anchor) {
    const match = /^(.*?)(?:-L(\d+))?$/.exec(anchor);
    const pane = this.panes.find((p) => p.element.id === match[1]);
    if (!pane) return;
    const line = match[2] === undefined ? -1 : pane.start + Number(match[2]) - pane.first;
    this.isNear = true;
    this.choose((this.byHand ? this.chosen() : this.preferred()).concat(pane.column.stage));
    pane.column.unfold(pane);
    if (pane.has(line)) this.pin(line, { quiet: true });
    else this.bring();
    this.comeIntoView(false);
  }
}
