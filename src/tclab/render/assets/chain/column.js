// ---------------------------------------------------------------- one stage: its panes, its bar

class Column {
  constructor(element, panes, chain) {
    this.element = element;
    this.chain = chain;
    this.stage = element.dataset.column;
    this.panes = panes;
    for (const pane of panes) pane.column = this;
    this.scroller = element.querySelector(".tclab-scroller");
    this.ruler = element.querySelector(".tclab-ruler");
    this.at = element.querySelector(".tclab-at");
    this.input = element.querySelector(".tclab-find input");
    this.cursor = -1; // the line that "next" goes on from
  }

  get shown() { return !this.element.hidden; }
  get lit() { return this.panes.flatMap((pane) => pane.lit.map((i) => pane.start + i)); }
  button(action) { return this.element.querySelector(`[data-do="${action}"]`); }

  // ------------------------------------------------------------------------ where lines are

  // How far the lines of a pane are from the top of all that scrolls (of a folded pane, how far its
  // heading is): a function of a line's number. Lines are of one height, so that none has to be laid
  // out to know where it is, unless they are wrapped.
  heights(pane) {
    const from = this.scroller.getBoundingClientRect().top - this.scroller.scrollTop;
    if (!pane.element.open || !pane.elements) {
      const heading = pane.summary.getBoundingClientRect().top - from;
      return () => heading;
    }
    if (this.chain.wrapped) return (i) => pane.elements[i].getBoundingClientRect().top - from;
    const style = getComputedStyle(pane.pre);
    const line = parseFloat(style.lineHeight);
    const top = pane.pre.getBoundingClientRect().top - from + parseFloat(style.paddingTop);
    return this.chain.all ? (i) => top + i * line : (i) => top + pane.ranks[i] * line;
  }

  // Where the scroller must stand for `line` to be in its middle.
  middle(line) {
    const pane = this.chain.pane(line);
    return this.heights(pane)(line - pane.start) - this.scroller.clientHeight / 2;
  }

  // Marks beside the scrollbar: a mark for each group of lines that would touch.
  marks() {
    const scale = this.ruler.clientHeight / this.scroller.scrollHeight;
    const groups = { lit: [], found: [] };
    for (const pane of this.panes) {
      if (!pane.lit.length && !pane.found.length) continue;
      const height = this.heights(pane);
      for (const kind of ["lit", "found"]) {
        const lines = pane.element.open && pane.elements ? pane[kind] : pane[kind].slice(0, 1);
        for (const i of lines) this.join(groups[kind], Math.round(height(i) * scale));
      }
    }
    const html = (kind, name) => groups[kind].map(([from, to]) =>
      `<i class="${name}" style="top:${from}px;height:${Math.max(3, to - from + 2)}px"></i>`).join("");
    return html("lit", "") + html("found", "tclab-match");
  }

  join(groups, at) {
    const last = groups[groups.length - 1];
    if (last && at - last[1] <= 3) last[1] = at;
    else groups.push([at, at]);
  }

  jump(event) {
    const box = this.ruler.getBoundingClientRect();
    const share = (event.clientY - box.top) / box.height;
    this.scroller.scrollTop = share * this.scroller.scrollHeight - this.scroller.clientHeight / 2;
  }

  // ------------------------------------------------------------- from one linked line to the next

  // Of ascending `lines` the one after (before) the cursor; round at the end.
  beyond(lines, by) {
    const after = lines.findIndex((line) => line > this.cursor);
    const before = lines.filter((line) => line < this.cursor).length - 1;
    const next = by > 0 ? after : before;
    return lines[next >= 0 ? next : by > 0 ? 0 : lines.length - 1];
  }

  // The first lines of what is linked without a gap.
  static groups(lines) { return lines.filter((line, i) => line - 1 !== lines[i - 1]); }

  go(lines, by) {
    if (!lines.length) return;
    const line = this.beyond(lines, by);
    const pane = this.chain.pane(line);
    pane.element.open = true;
    this.cursor = line;
    pane.load().then(() => {
      this.chain.reveal(line);
      this.chain.move(line, false);
      this.scroller.scrollTop = this.middle(line);
      this.say();
    });
  }

  say() {
    const lit = this.lit;
    const matches = this.matches();
    const which = (lines) => (lines.indexOf(this.cursor) + 1 || "–") + "/" + lines.length;
    this.at.textContent = lit.length ? which(lit) : "";
    this.button("next").disabled = this.button("previous").disabled = !lit.length;
    this.element.querySelector(".tclab-find output").textContent = this.input.value ? which(matches) : "";
  }

  // ------------------------------------------------------------------------------------- find

  matches() { return this.panes.flatMap((pane) => pane.found.map((i) => pane.start + i)); }

  async find(text) {
    const wanted = text.toLowerCase();
    if (wanted) await Promise.all(this.panes.map((pane) => pane.load()));
    for (const pane of this.panes) {
      for (const i of pane.found) pane.elements[i].classList.remove("tclab-match");
      pane.found = [];
      if (!wanted || this.input.value !== text) continue;
      pane.texts().forEach((line, i) => {
        if (line.toLowerCase().includes(wanted) && (this.chain.all || !pane.noise[i])) pane.found.push(i);
      });
      for (const i of pane.found) pane.elements[i].classList.add("tclab-match");
    }
    this.say();
    this.chain.mark();
  }

  openFind(open) {
    this.element.querySelector(".tclab-find").hidden = !open;
    this.button("find").setAttribute("aria-expanded", open);
    if (open) { this.input.focus(); this.input.select(); return; }
    this.input.value = "";
    this.find("");
    if (this.element.contains(document.activeElement)) this.button("find").focus();
  }

  // ------------------------------------------------------------------------------------ folding

  // Opens the panes that the selection reaches, else the first; not all if long. The pane that was
  // clicked stays as it is: nothing moves under the pointer.
  unfold(wanted) {
    if (wanted && wanted.element.open) return;
    const reached = this.panes.filter((pane) => pane.lit.length);
    const some = wanted ? [wanted] : reached.length ? reached : this.panes;
    let room = MOST_OPEN;
    for (const pane of this.panes) {
      const fits = some.includes(pane) && (room === MOST_OPEN || pane.count <= room);
      if (fits) room -= pane.count;
      if (fits || !wanted) pane.element.open = fits;
    }
  }
}
