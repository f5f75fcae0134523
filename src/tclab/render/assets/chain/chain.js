// The chain.

// The panes of a chain and the parts of its viewer. A part asks another for something by its name
// here; what has happened it tells all of them:
//   lines     a pane has got its lines (the pane)
//   lit       other lines are lit
//   pinned    a line is pinned (the line)
//   unpinned
//   moved     lines may stand elsewhere, or other ones are marked
class Chain extends EventTarget {
  constructor(root) {
    super();
    this.root = root;
    this.data = JSON.parse(root.querySelector('script[type="application/json"]').textContent);
    this.index = new Index(this.data);
    this.panes = this.paned();
    this.switches = new Switches(this);
    this.columns = Array.from(root.querySelectorAll(".tclab-column"), (element) =>
      new Column(this, element));
    this.hues = new Hues(this);
    this.rulers = new Rulers(this);
    this.stages = new Stages(this);
    this.widths = new Widths(this);
    this.view = new View(this);
    this.entrance = new Entrance(this);
    this.keyboard = new Keyboard(this);
    this.links = new Links(this);
    this.selection = new Selection(this);
    this.status = new Status(this);
    this.loader = new Loader(this);
    this.tip = new Tip(this);
    this.begin();
  }

  paned() {
    let start = 0;
    return Array.from(this.root.querySelectorAll(".tclab-pane"), (element, i) => {
      const pane = new Pane(this, element, start, this.data.counts[i]);
      start += pane.count;
      return pane;
    });
  }

  begin() {
    for (const column of this.columns) column.unfold();
    const first = this.panes.find((pane) => pane.count && pane.pre);
    if (first) this.keyboard.move(first.start, false);
    this.root.toggleAttribute("data-live", true);
    this.root.addEventListener("click", (event) => this.click(event));
    this.switches.restore();
    whenIdle(() => this.hues.know(), { timeout: 2000 });
    this.loader.begin();
  }

  emit(name, detail) { this.dispatchEvent(new CustomEvent(name, { detail })); }
  on(name, act) { this.addEventListener(name, (event) => act(event.detail)); }

  // --- lines and elements

  pane(line) { return this.panes.find((pane) => pane.has(line)); }
  element(line) { return this.pane(line).at(line); }
  column(element) { return this.columns.find((column) => column.element.contains(element)); }

  // The line that an element is in, or -1.
  line(element) {
    const own = element.closest && element.closest("t-l");
    if (!own || !this.root.contains(own)) return -1;
    const pane = this.panes.find((p) => p.element.contains(own));
    return pane.lines() && pane.start + places.get(own);
  }

  // --- clicks

  click(event) {
    const { target } = event;
    const button = target.closest("button[data-do]");
    if (button) { this.act(button); return; }
    const link = target.closest(".tclab-skip, t-l > em > a");
    if (link) {
      event.preventDefault();
      if (link.matches(".tclab-skip")) this.keyboard.focus();
      else this.links.follow(link);
      return;
    }
    if (target.closest("a, summary, input, label")) return;
    const line = this.line(target);
    const marked = window.getSelection();
    if (line < 0 || (marked && !marked.isCollapsed)) return;
    this.selection.toggle(line);
  }

  // What a button copies: the pane that it is in, or else all of its column.
  taken(button, column) {
    const own = this.panes.find((pane) => pane.element.contains(button));
    return own ? [own] : column.panes;
  }

  act(button) {
    const column = this.column(button);
    const acts = {
      all: () => this.switches.setAll(!this.switches.all),
      wrap: () => this.switches.setWrapped(!this.switches.wrapped),
      copy: () => this.links.copy(),
      take: () => take(button, this.taken(button, column)),
      previous: () => column.walk.go(column.lit, -1),
      next: () => column.walk.go(column.lit, 1),
      find: () => column.find.open(button.getAttribute("aria-expanded") !== "true"),
    };
    if (acts[button.dataset.do]) acts[button.dataset.do]();
  }
}

// Whether the reader is in the viewer: clicked into it, or pressed a key there. Until then the wheel
// is the page's, and no pane stops it on its way.
class Entrance {
  constructor(chain) {
    this.root = chain.root;
    const enter = (event) => this.set(this.root.contains(event.target));
    const leave = (event) => { if (!this.root.contains(event.target)) this.set(false); };
    document.addEventListener("click", enter, true);
    this.root.addEventListener("keydown", enter, true);
    document.addEventListener("focusin", leave);
    addEventListener("wheel", leave, { passive: true });
  }

  set(isIn) { this.root.toggleAttribute("data-entered", isIn); }
}

// All lines, or only those that say something; long ones as they are, or broken.
class Switches {
  constructor(chain) {
    this.chain = chain;
    this.all = this.wrapped = false;
  }

  restore() { if (memory.get("wrap")) this.setWrapped(true); }

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
    const { root, selection, view } = this.chain;
    root.toggleAttribute(name, on);
    root.querySelector(`[data-do="${action}"]`).setAttribute("aria-pressed", on);
    if (selection.pinned >= 0) view.scroll();
    else this.chain.emit("moved");
  }
}
