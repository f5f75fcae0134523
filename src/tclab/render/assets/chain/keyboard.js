// Keyboard.

class Keyboard {
  constructor(chain) {
    this.chain = chain;
    this.current = -1; // the line that Tab reaches
    chain.root.addEventListener("keydown", (event) => {
      if (!this.key(event)) return;
      event.preventDefault();
      event.stopPropagation(); // the site's theme has a use of its own for n, p and /
    });
    chain.root.addEventListener("focusin", (event) => {
      const line = chain.line(event.target);
      if (line >= 0 && line !== this.current) this.move(line, false);
    });
    this.rove(chain.root.querySelector(".tclab-tools"));
    for (const head of chain.root.querySelectorAll(".tclab-head")) {
      this.rove(head, head.querySelector('[data-do="find"]'));
    }
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
    while (pane.hides(i)) i += by;
    return i >= 0 && i < pane.count ? pane.start + i : this.current;
  }

  beside(by) {
    const shown = this.chain.panes.filter((p) => p.shown && p.elements);
    const pane = shown[shown.indexOf(this.chain.pane(this.current)) + by];
    if (!pane) return this.current;
    return pane.start + (pane.lit.length ? pane.lit[0] : 0);
  }

  // Whether the key is one of the viewer's. What is looked for, and a grip, have their own; where
  // the focus is on no line, those remain that go from one linked line to the next.
  key(event) {
    const { chain } = this;
    if (event.target.type === "search" || event.target.matches(GRIP)) return false;
    if (event.key === "Escape") { this.letGo(); return true; }
    if (event.ctrlKey || event.metaKey || event.altKey || this.current < 0) return false;
    const act = this.act(event);
    if (act) act();
    return Boolean(act);
  }

  act({ key, target }) {
    const pane = this.chain.pane(this.current);
    if (this.chain.line(target) < 0) return this.walks(this.chain.column(target) || pane.column)[key];
    const to = this.steps(pane)[key];
    return to ? () => this.step(to()) : { ...this.walks(pane.column), ...this.acts(pane.column) }[key];
  }

  letGo() {
    this.chain.selection.clear();
    this.chain.entrance.set(false);
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

  walks({ walk, lit }) {
    const { selection, links } = this.chain;
    return {
      n: () => walk.go(lit, 1),
      p: () => walk.go(lit, -1),
      N: () => walk.go(Walk.groups(lit), 1),
      P: () => walk.go(Walk.groups(lit), -1),
      c: () => selection.pinned >= 0 && links.copy(),
    };
  }

  acts(column) {
    const { selection } = this.chain;
    return {
      "/": () => column.find.open(true),
      Enter: () => selection.toggle(this.current),
      " ": () => selection.toggle(this.current),
    };
  }

  // One stop for Tab, arrows within: a row of a dozen boxes is not in the way of the keyboard.
  rove(toolbar, first) {
    const items = Array.from(toolbar.querySelectorAll("input:not([type=search]), button"));
    items.forEach((item) => { item.tabIndex = item === (first || items[0]) ? 0 : -1; });
    toolbar.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      const able = items.filter((item) => !item.disabled);
      const at = able.indexOf(event.target);
      if (!by || at < 0) return;
      const next = able[(at + by + able.length) % able.length];
      items.forEach((item) => { item.tabIndex = item === next ? 0 : -1; });
      next.focus();
      event.preventDefault();
    });
  }
}
