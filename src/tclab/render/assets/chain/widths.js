// How wide columns are.

const GRIP = ".tclab-grip";

// Widths that the reader dragged to; until then columns are as wide as their content asks for.
class Widths {
  constructor(chain) {
    this.chain = chain;
    this.restore();
    chain.root.addEventListener("pointerdown", (event) => {
      if (event.target.matches(GRIP)) this.drag(event);
    });
    chain.root.addEventListener("keydown", (event) => {
      if (event.target.matches(GRIP) && this.resize(event)) event.preventDefault();
    });
  }

  restore() {
    let widths = {};
    try { widths = JSON.parse(memory.get("widths") || "{}"); } catch (_) { /* not ours */ }
    for (const { stage, element } of this.chain.columns) {
      if (widths[stage] > 0) element.style.setProperty("--w", widths[stage]);
    }
    this.chain.root.toggleAttribute("data-sized", Object.keys(widths).length > 0);
  }

  // Turns the widths of what is shown into the weights that give the same: a column that has more
  // than its weight, for its longest line, can then be made narrower.
  settle() {
    const { root, columns } = this.chain;
    if (root.matches("[data-sized]")) return;
    const shown = columns.filter((column) => column.shown);
    const widths = shown.map(({ element }) => element.getBoundingClientRect().width);
    const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
    const scale = sum(shown.map(Widths.weight)) / sum(widths);
    shown.forEach(({ element }, i) => element.style.setProperty("--w", (widths[i] * scale).toFixed(2)));
    root.toggleAttribute("data-sized", true);
  }

  static weight({ element }) { return Number(getComputedStyle(element).flexGrow); }

  remember() {
    const widths = this.chain.columns.map((c) => [c.stage, Number(c.element.style.getPropertyValue("--w"))]);
    memory.set("widths", JSON.stringify(Object.fromEntries(widths)));
  }

  // The column that a grip is at the right of, and the next one shown.
  neighbours(grip) {
    const shown = this.chain.columns.filter((column) => column.shown);
    const left = shown.findIndex((column) => column.element.contains(grip));
    return [shown[left], shown[left + 1]];
  }

  // Gives `left` this many pixels of what it and its neighbour have together.
  divide([left, right], pixels) {
    if (!right) return;
    this.settle();
    const wide = (column) => column.element.getBoundingClientRect().width;
    const both = wide(left) + wide(right);
    const weights = Widths.weight(left) + Widths.weight(right);
    const share = Math.min(Math.max(pixels, 120), both - 120) / both;
    left.element.style.setProperty("--w", (weights * share).toFixed(2));
    right.element.style.setProperty("--w", (weights * (1 - share)).toFixed(2));
    this.chain.emit("moved");
  }

  drag(event) {
    const grip = event.target;
    const pair = this.neighbours(grip);
    const box = () => pair[0].element.getBoundingClientRect();
    const offset = box().right - event.clientX;
    const move = (e) => this.divide(pair, e.clientX + offset - box().left);
    const end = () => {
      grip.removeEventListener("pointermove", move);
      this.remember();
    };
    grip.setPointerCapture(event.pointerId);
    grip.addEventListener("pointermove", move);
    grip.addEventListener("lostpointercapture", end, { once: true });
    event.preventDefault();
  }

  // ← and → on a grip.
  resize(event) {
    const by = { ArrowLeft: -24, ArrowRight: 24 }[event.key];
    if (!by) return false;
    const pair = this.neighbours(event.target);
    this.divide(pair, pair[0].element.getBoundingClientRect().width + by);
    this.remember();
    return true;
  }
}
