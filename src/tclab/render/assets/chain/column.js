// One stage: its panes, its bar.

const MOST_OPEN = 400; // lines that a column unfolds by itself

class Column {
  constructor(chain, element) {
    this.chain = chain;
    this.element = element;
    this.stage = element.dataset.column;
    this.panes = chain.panes.filter((pane) => element.contains(pane.element));
    for (const pane of this.panes) pane.column = this;
    this.scroller = element.querySelector(".tclab-scroller");
    this.ruler = new Ruler(this);
    this.walk = new Walk(this);
    this.isRested = false;
    this.find = new Find(this);
    if (this.panes.length > 1) for (const pane of this.panes) pane.summary.after(copier(pane.name));
  }

  get shown() { return !this.element.hidden; }
  get lit() { return this.lines("lit"); }
  get matches() { return this.lines("matches"); }
  lines(kind) { return this.panes.flatMap((pane) => pane[kind].map((i) => pane.start + i)); }
  button(action) { return this.element.querySelector(`[data-do="${action}"]`); }

  // Writes into the bar how many lines there are to go through, and at which of them the reader is.
  count() { this.walk.count(); this.find.count(); }

  // --- where lines are

  // How far the lines of a pane are from the top of all that scrolls (of a folded pane, how far its
  // heading is): a function of a line's number. Lines are of one height, so that none has to be laid
  // out to know where it is, unless they are wrapped.
  heights(pane) {
    const { wrapped } = this.chain.switches;
    const all = this.chain.switches.all || pane.whole;
    const from = this.scroller.getBoundingClientRect().top - this.scroller.scrollTop;
    if (!pane.element.open || !pane.elements) {
      const heading = pane.summary.getBoundingClientRect().top - from;
      return () => heading;
    }
    if (wrapped) return (i) => pane.elements[i].getBoundingClientRect().top - from;
    const style = getComputedStyle(pane.pre);
    const line = parseFloat(style.lineHeight);
    const top = pane.pre.getBoundingClientRect().top - from + parseFloat(style.paddingTop);
    return all ? (i) => top + i * line : (i) => top + pane.ranks[i] * line;
  }

  // Where the scroller must stand for `line` to be in its middle.
  middle(line) {
    const pane = this.chain.pane(line);
    return this.heights(pane)(line - pane.start) - this.scroller.clientHeight / 2;
  }

  // Where the scroller stands at rest: its first coloured line in the upper third, where it would
  // not be in sight at the top. -1 where no such line is known.
  restingTop() {
    const { hues } = this.chain;
    const { clientHeight } = this.scroller;
    for (const pane of this.panes) {
      if (!pane.element.open || !pane.elements) continue;
      const first = pane.elements.findIndex((_, i) => hues.of(pane.start + i).length);
      const at = first < 0 ? -1 : this.heights(pane)(first);
      if (at >= 0) return at < clientHeight - 40 ? 0 : at - clientHeight / 3;
    }
    return -1;
  }

  // --- folding

  unfoldFirst() { if (!this.panes.some((pane) => pane.element.open)) this.unfold(); }

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

// --- from one linked line to the next

class Walk {
  constructor(column) {
    this.column = column;
    this.at = column.element.querySelector(".tclab-at");
    this.cursor = -1; // the line that "next" goes on from
    column.chain.on("lit", () => column.count());
    column.chain.on("unpinned", () => { this.cursor = -1; });
  }

  // The first lines of what is linked without a gap.
  static groups(lines) { return lines.filter((line, i) => line - 1 !== lines[i - 1]); }

  // Begins at the line that was pinned, in its own column, else at the first linked one.
  begin(line) {
    const { panes, lit } = this.column;
    this.cursor = panes.some((pane) => pane.has(line)) ? line : (lit[0] ?? -1);
    this.column.count();
  }

  // Of ascending `lines` the one after (before) the cursor; round at the end.
  beyond(lines, by) {
    const after = lines.findIndex((line) => line > this.cursor);
    const before = lines.filter((line) => line < this.cursor).length - 1;
    const next = by > 0 ? after : before;
    return lines[next >= 0 ? next : by > 0 ? 0 : lines.length - 1];
  }

  async go(lines, by) {
    if (!lines.length) return;
    const { chain, scroller } = this.column;
    const line = this.beyond(lines, by);
    const pane = chain.pane(line);
    pane.element.open = true;
    this.cursor = line;
    await pane.load();
    chain.view.reveal(line);
    chain.keyboard.move(line, false);
    scroller.scrollTop = this.column.middle(line);
    this.column.count();
  }

  which(lines) { return (lines.indexOf(this.cursor) + 1 || "–") + "/" + lines.length; }

  count() {
    const { lit } = this.column;
    this.at.textContent = lit.length ? this.which(lit) : "";
    for (const action of ["next", "previous"]) this.column.button(action).disabled = !lit.length;
  }
}
