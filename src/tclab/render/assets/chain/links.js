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

  // Puts into the address what is pinned, and the stages if the reader chose them; as a step that
  // Back undoes, or in place of what was there.
  write(isStep) {
    const { stages, selection: { pinned } } = this.chain;
    const isPinned = pinned >= 0;
    address.set(isPinned || stages.byHand ? stages.chosen : [], isPinned ? this.anchor(pinned) : "", isStep);
  }

  anchor(line) {
    const pane = this.chain.pane(line);
    return pane.element.id + "-L" + pane.number(line);
  }

  async copy() {
    this.write();
    say(this.button, await copied(location.href) ? "copied" : "the address has it");
  }

  // What the address has: a link to a line, or to a pane, which stands for its first line that is
  // linked; or nothing of this chain, and then nothing is pinned.
  visit(anchor) {
    const { panes, stages, selection, loader, view } = this.chain;
    const match = /^(.*?)(?:-L(\d+))?$/.exec(anchor);
    const pane = panes.find((p) => p.element.id === match[1]);
    if (!pane) {
      if (selection.pinned >= 0) selection.clear({ quiet: true });
      return;
    }
    const line = match[2] === undefined ? this.telling(pane) : pane.start + Number(match[2]) - pane.first;
    stages.show((stages.byHand ? stages.chosen : stages.preferred()).concat(pane.column.stage));
    pane.column.unfold(pane);
    if (pane.has(line)) selection.pin(line, { quiet: true });
    else loader.bring(true);
    view.comeIntoView(false);
  }

  // The first line of a pane that came from something and became something, else the first that is
  // linked, else -1: with it the other stages open at what belongs to this pane.
  telling(pane) {
    const lines = Array.from({ length: pane.count }, (_, i) => pane.start + i);
    const [below, above] = this.chain.index.of;
    const line = lines.find((each) => below[each] && above[each]);
    return line ?? lines.find((each) => this.chain.index.linked(each)) ?? -1;
  }

  // A line's origin: the address may name its pane only, the words name its line, too.
  follow(origin) {
    const pane = new URL(origin.href).hash.slice(1).replace(/-L\d+$/, "");
    this.visit(pane + "-L" + origin.textContent.split(":").pop());
    this.write(true);
  }
}
