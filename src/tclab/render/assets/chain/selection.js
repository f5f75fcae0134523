// Which lines are lit.

class Selection {
  constructor(chain) {
    this.chain = chain;
    this.pinned = this.previewed = -1;
    chain.root.addEventListener("pointerover", (event) => {
      if (isPointing(event)) this.preview(chain.line(event.target));
    });
    chain.root.addEventListener("pointerleave", () => this.preview(-1));
  }

  light(line) {
    const { chain } = this;
    const closure = line < 0 ? null : chain.index.closure(line);
    for (const pane of chain.panes) pane.light(closure);
    chain.emit("lit");
  }

  preview(line) {
    if (this.pinned >= 0 || line === this.previewed) return;
    this.previewed = line;
    this.frame = this.frame || requestAnimationFrame(() => {
      this.frame = 0;
      if (this.pinned >= 0) return;
      this.light(this.previewed);
      this.chain.emit("moved");
    });
  }

  // First all that changes the page, then all that measures it: one layout in all.
  async pin(line, { quiet = false, still = null, focus = false } = {}) {
    const { columns, stages, root, links, loader } = this.chain;
    const own = this.chain.pane(line);
    this.pinned = this.previewed = line;
    this.light(line);
    root.toggleAttribute("data-dimmed", true);
    if (!own.column.shown) stages.show(stages.chosen.concat(own.column.stage));
    for (const column of columns) {
      column.unfold(column === own.column && own);
      column.walk.begin(line);
    }
    this.chain.emit("pinned", line);
    this.show(line, still, focus);
    if (!quiet) links.write(true);
    const hasArrived = await loader.bring(true);
    if (hasArrived && this.pinned === line) this.show(line, still, focus);
  }

  show(line, still, focus) {
    const { view, keyboard, links } = this.chain;
    view.reveal(line);
    view.revealLit();
    keyboard.move(line, focus);
    links.offer(line);
    view.scroll(still);
  }

  clear({ quiet = false } = {}) {
    const { chain } = this;
    const hadPinned = this.pinned >= 0;
    this.pinned = this.previewed = -1;
    if (hadPinned && !quiet) chain.links.write(true);
    for (const pane of chain.panes) if (pane.whole) pane.showWhole(false);
    chain.root.removeAttribute("data-dimmed");
    chain.emit("unpinned");
    this.light(-1);
    chain.emit("moved");
  }

  toggle(line) {
    if (line === this.pinned) { this.clear(); return; }
    this.pin(line, { still: this.chain.pane(line), focus: true });
    this.chain.view.comeIntoView(true);
  }
}

// --- what comes into sight

class View {
  constructor(chain) { this.chain = chain; }

  // A line that is hidden for being noise is shown when it is chosen.
  reveal(line) {
    if (this.isHidden(line)) this.chain.switches.setAll(true);
  }

  isHidden(line) {
    const pane = this.chain.pane(line);
    return pane.hides(line - pane.start);
  }

  // Where all that is lit in a stage is hidden for being noise, its panes show all they have.
  revealLit() {
    for (const column of this.chain.columns) {
      if (!column.lit.length || !column.lit.every((line) => this.isHidden(line))) continue;
      for (const pane of column.panes) if (pane.lit.length) pane.showWhole(true);
    }
  }

  // As long as nothing is pinned: the first line that has a colour, where it would be out of sight.
  rest() {
    const { chain } = this;
    if (chain.selection.pinned >= 0 || !chain.hues.owners) return;
    const columns = chain.columns.filter((column) => column.shown && !column.isRested);
    const tops = columns.map((column) => column.restingTop());
    columns.forEach((column, i) => {
      column.isRested = tops[i] >= 0;
      if (tops[i] > 0) column.scroller.scrollTop = tops[i];
    });
    chain.emit("moved");
  }

  // Brings the first linked line of each column to its middle, or that which the reader has gone on
  // to while code was on its way: all measured, then all moved. The pane `still` stays as it is.
  scroll(still) {
    const own = this.chain.pane(this.chain.selection.pinned);
    const moves = [];
    for (const column of this.chain.columns) {
      if (!column.shown || (still && own === still && column === own.column)) continue;
      const { cursor } = column.walk;
      const line = cursor >= 0 ? cursor : column.lit[0];
      if (line !== undefined) moves.push([column, column.middle(line)]);
    }
    for (const [column, top] of moves) column.scroller.scrollTop = top;
    this.chain.emit("moved");
  }

  // The whole viewer in the window, which it is as tall as at most.
  comeIntoView(smooth) {
    const { root } = this.chain;
    const box = root.getBoundingClientRect();
    const top = parseFloat(getComputedStyle(root).scrollMarginTop) || 0;
    if (box.top >= top - 1 && box.bottom <= innerHeight + 1) return;
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    root.scrollIntoView({ block: "start", behavior: smooth && !calm ? "smooth" : "instant" });
  }
}
