// Keyboard.

class Keyboard {
  constructor(chain) {
    this.chain = chain;
    this.current = -1; // the line that Tab reaches
    chain.root.addEventListener("keydown", (event) => {
      if (this.key(event)) event.preventDefault();
    });
    chain.root.addEventListener("focusin", (event) => {
      const line = chain.line(event.target);
      if (line >= 0 && line !== this.current) this.move(line, false);
    });
    this.rove(chain.root.querySelector(".tclab-tools"));
  }

  focus() { this.chain.element(this.current).focus(); }

  // Makes `line` the one that Tab reaches.
  move(line, focus) {
    const { chain, current } = this;
    const next = chain.element(line);
    const old = current >= 0 && current !== line ? chain.element(current) : null;
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
    this.chain.element(line).scrollIntoView({ block: "nearest", inline: "nearest" });
    this.chain.selection.preview(line);
  }

  // The next line up or down that is not hidden.
  beyond(by) {
    const pane = this.chain.pane(this.current);
    let i = this.current - pane.start + by;
    while (!this.chain.switches.all && pane.noise[i]) i += by;
    return i >= 0 && i < pane.count ? pane.start + i : this.current;
  }

  beside(by) {
    const shown = this.chain.panes.filter((p) => p.shown && p.elements);
    const pane = shown[shown.indexOf(this.chain.pane(this.current)) + by];
    if (!pane) return this.current;
    return pane.start + (pane.lit.length ? pane.lit[0] : 0);
  }

  // Whether the key is one of the viewer's. What is looked for, and a grip, have their own.
  key(event) {
    const { chain } = this;
    if (event.target.type === "search" || event.target.matches(GRIP)) return false;
    if (event.key === "Escape") { chain.selection.clear(); return true; }
    if (event.ctrlKey || event.metaKey || event.altKey || chain.line(event.target) < 0) return false;
    const pane = chain.pane(this.current);
    const to = this.steps(pane)[event.key];
    const act = to ? () => this.step(to()) : this.acts(pane.column)[event.key];
    if (act) act();
    return Boolean(act);
  }

  // For each key the line that it goes to.
  steps(pane) {
    return {
      ArrowUp: () => this.beyond(-1),
      ArrowDown: () => this.beyond(1),
      ArrowLeft: () => this.beside(-1),
      ArrowRight: () => this.beside(1),
      Home: () => pane.start,
      End: () => pane.start + pane.count - 1,
    };
  }

  acts(column) {
    const { selection, links } = this.chain;
    const { walk, lit } = column;
    return {
      n: () => walk.go(lit, 1),
      p: () => walk.go(lit, -1),
      N: () => walk.go(Walk.groups(lit), 1),
      P: () => walk.go(Walk.groups(lit), -1),
      c: () => selection.pinned >= 0 && links.copy(),
      "/": () => column.find.open(true),
      Enter: () => selection.toggle(this.current),
      " ": () => selection.toggle(this.current),
    };
  }

  // One stop for Tab, arrows within: a row of a dozen boxes is not in the way of the keyboard.
  rove(toolbar) {
    const items = Array.from(toolbar.querySelectorAll("input, button"));
    items.forEach((item, i) => { item.tabIndex = i ? -1 : 0; });
    toolbar.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      const at = items.indexOf(event.target);
      if (!by || at < 0) return;
      const next = items[(at + by + items.length) % items.length];
      items.forEach((item) => { item.tabIndex = item === next ? 0 : -1; });
      next.focus();
      event.preventDefault();
    });
  }
}
