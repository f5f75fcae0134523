// Links to lines, and back.

class Links {
  constructor(chain) {
    this.chain = chain;
    this.button = this.makeButton();
    chain.on("unpinned", () => this.button.remove());
  }

  makeButton() {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "tclab-link";
    button.dataset.do = "copy";
    button.title = "Copy a link to this line";
    button.setAttribute("aria-label", button.title);
    return button;
  }

  offer(line) {
    const pane = this.chain.pane(line);
    if (pane.elements) pane.at(line).prepend(this.button);
  }

  // Puts into the address what is pinned, and the stages if the reader chose them.
  write() {
    const { stages, selection: { pinned } } = this.chain;
    const isPinned = pinned >= 0;
    address.set(isPinned || stages.byHand ? stages.chosen : [], isPinned ? this.anchor(pinned) : "");
  }

  anchor(line) {
    const pane = this.chain.pane(line);
    return pane.element.id + "-L" + pane.number(line);
  }

  async copy() {
    this.write();
    const done = await copied(location.href);
    this.button.dataset.said = done ? "copied" : "the address has it";
    setTimeout(() => delete this.button.dataset.said, 2000);
  }

  // A link to a pane, or to a line of one.
  visit(anchor) {
    const { panes, stages, selection, loader, view } = this.chain;
    const match = /^(.*?)(?:-L(\d+))?$/.exec(anchor);
    const pane = panes.find((p) => p.element.id === match[1]);
    if (!pane) return;
    const line = match[2] === undefined ? -1 : pane.start + Number(match[2]) - pane.first;
    stages.show((stages.byHand ? stages.chosen : stages.preferred()).concat(pane.column.stage));
    pane.column.unfold(pane);
    if (pane.has(line)) selection.pin(line, { quiet: true });
    else loader.bring(true);
    view.comeIntoView(false);
  }

  // A line's origin: the address may name its pane only, the words name its line, too.
  follow(origin) {
    const pane = new URL(origin.href).hash.slice(1).replace(/-L\d+$/, "");
    this.visit(pane + "-L" + origin.textContent.split(":").pop());
    this.write();
  }
}
