// ---------------------------------------------------------------------------- what is listened to

const GRIP = ".tclab-grip";

Object.assign(Chain.prototype, {
  listen() {
    const root = this.root;
    root.addEventListener("click", (event) => this.click(event));
    root.addEventListener("pointerover", (event) => this.point(event));
    root.addEventListener("pointerleave", () => { this.tip.hide(); this.preview(-1); });
    root.addEventListener("pointerdown", (event) => {
      if (event.target.matches(GRIP)) this.drag(event);
      if (event.target.matches(".tclab-ruler, .tclab-ruler i")) this.columnOf(event.target).jump(event);
    });
    root.addEventListener("keydown", (event) => {
      if (this.keydown(event)) event.preventDefault();
    });
    root.addEventListener("focusin", (event) => {
      const line = this.line(event.target);
      if (line >= 0 && line !== this.current) this.move(line, false);
    });
    root.addEventListener("change", (event) => {
      if (event.target.type === "checkbox") this.rechoose(event.target);
    });
    root.addEventListener("input", (event) => {
      if (event.target.type === "search") this.columnOf(event.target).find(event.target.value);
    });
    root.addEventListener("toggle", (event) => this.toggled(event), true);
    if (window.ResizeObserver) new ResizeObserver(() => this.resized()).observe(root);
    this.rove(root.querySelector(".tclab-tools"));
    if (memory.get("wrap")) this.setWrapped(true);
  },

  // As many columns as there is room for now: the window, or a fold around the viewer, was opened.
  resized() {
    const room = this.room();
    if (room !== this.had && !this.byHand) {
      this.choose(this.pinned < 0 ? this.preferred() : this.chosen());
      for (const column of this.columns) if (column.shown) column.unfoldFirst();
      this.bring();
    }
    this.had = room;
    this.mark();
  },

  columnOf(element) { return this.columns.find((column) => column.element.contains(element)); },

  click(event) {
    const button = event.target.closest("button[data-do]");
    if (button) { this.act(button); return; }
    if (event.target.closest(".tclab-skip")) {
      event.preventDefault();
      this.element(this.current).focus();
      return;
    }
    const origin = event.target.closest("t-l > em > a");
    if (origin) { event.preventDefault(); this.follow(origin); return; }
    if (event.target.closest("a, summary, input, label")) return;
    const line = this.line(event.target);
    const selected = window.getSelection();
    if (line < 0 || (selected && !selected.isCollapsed)) return;
    this.toggle(line);
  },

  // A line's origin: the address may name its pane only, the words name its line, too.
  follow(origin) {
    const pane = new URL(origin.href).hash.slice(1).replace(/-L\d+$/, "");
    this.visit(pane + "-L" + origin.textContent.split(":").pop());
    this.write();
  },

  point(event) {
    if (event.pointerType === "touch" || event.target.closest(".tclab-tip")) return;
    const line = this.line(event.target);
    this.preview(line);
    const of = event.target.closest(".tclab-op, .tclab-type");
    if (!of) this.tip.hide();
    else if (of.matches(".tclab-op")) {
      const { stage } = this.pane(line);
      const known = this.data.help[stage];
      this.tip.show(of, explain(known, of.textContent), entryLink(stage, known, of.textContent));
    } else this.tip.show(of, this.all ? "" : of.parentElement.textContent);
  },

  keydown(event) {
    if (event.target.matches(GRIP)) return this.resize(event);
    if (event.target.type !== "search") return this.key(event);
    const column = this.columnOf(event.target);
    if (event.key === "Escape") column.openFind(false);
    else if (event.key === "Enter") column.go(column.matches(), event.shiftKey ? -1 : 1);
    else return false;
    return true;
  },

  toggled(event) {
    const pane = this.panes.find((p) => p.element === event.target);
    if (!pane || !pane.element.open) { this.mark(); return; }
    if (pane.elements || (pane.away && !pane.shown)) { this.mark(); return; }
    pane.load().then(() => {
      if (this.pinned >= 0 && pane.lit.length) this.scroll(this.pane(this.pinned));
      else this.mark();
    });
  },

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
  },
});
