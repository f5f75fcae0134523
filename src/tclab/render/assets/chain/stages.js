// Which stages are shown.

const NARROW = matchMedia("(max-width: 44.99em)"); // a phone: Python, and one stage in front

class Stages {
  constructor(chain) {
    this.chain = chain;
    this.columns = chain.columns;
    this.boxes = Array.from(chain.root.querySelectorAll(".tclab-chooser input"));
    this.row = chain.root.querySelector(".tclab-chooser");
    this.row.addEventListener("scroll", () => this.fade(), { passive: true });
    this.byHand = false; // whether the reader chose them
    this.had = this.room();
    this.show(this.preferred());
    chain.on("lit", () => this.count());
    chain.root.addEventListener("change", (event) => {
      if (event.target.type === "checkbox") this.choose(event.target);
    });
    if (window.ResizeObserver) new ResizeObserver(() => this.resized()).observe(chain.root);
  }

  get chosen() { return this.columns.filter((c) => c.shown).map((c) => c.stage); }

  // How many columns there is room for; chain.css knows the same widths.
  room() {
    if (NARROW.matches) return 1; // without asking for a width, which lays the page out
    const wide = this.chain.root.clientWidth;
    return wide >= 1420 ? 4 : wide >= 900 ? 3 : 2;
  }

  // What the address says, or what the reader last chose on a window like this one, as far as it
  // is here; else the usual.
  preferred() {
    const here = (stages) => stages.filter((s) => this.columns.some((c) => c.stage === s));
    const asked = here(address.stages());
    if (asked.length) return asked;
    const own = here(memory.get("stages-" + this.room()).split(" "));
    if (own.length > 1) return own;
    const usual = this.columns.slice().sort((a, b) => a.element.dataset.rank - b.element.dataset.rank);
    return usual.slice(0, Math.max(2, this.room())).map((c) => c.stage);
  }

  // On a phone the last of them comes to the front, below Python.
  stacked(stages) {
    const front = stages.filter((stage) => stage !== "python").slice(-1);
    const python = this.columns.filter((column) => column.stage === "python").map((c) => c.stage);
    return python.concat(front.length ? front : this.chosen.filter((s) => s !== "python").slice(-1));
  }

  show(stages) {
    const shown = NARROW.matches ? this.stacked(stages) : stages;
    this.columns.forEach((column, i) => {
      column.element.hidden = !shown.includes(column.stage);
      this.boxes[i].checked = column.shown;
      column.element.removeAttribute("data-last");
    });
    const last = this.columns.filter((column) => column.shown).pop();
    if (last) last.element.toggleAttribute("data-last", true);
    if (!NARROW.matches || !last) return;
    const label = this.boxes[this.columns.indexOf(last)].parentElement;
    requestAnimationFrame(() => this.showBox(label)); // with the frame's own layout
  }

  // The box of the stage in front, where not all boxes have room: it and the one before it, whole.
  showBox(label) {
    const before = label.previousElementSibling || label;
    this.row.scrollLeft = before.offsetLeft - this.row.offsetLeft - 24;
    this.fade();
  }

  // Boxes go on beyond an edge of the row where it fades.
  fade() {
    const { scrollLeft, scrollWidth, clientWidth } = this.row;
    this.row.toggleAttribute("data-before", scrollLeft > 1);
    this.row.toggleAttribute("data-after", scrollLeft < scrollWidth - clientWidth - 1);
  }

  // The reader ticked a box.
  async choose(box) {
    const { selection, links, loader, view } = this.chain;
    const scroll = () => { if (selection.pinned >= 0) view.scroll(); else view.rest(); };
    const ticked = this.boxes.filter((b) => b.checked && b !== box).map((b) => b.value);
    this.show(box.checked || NARROW.matches ? ticked.concat(box.value) : ticked);
    this.byHand = true;
    memory.set("stages-" + this.room(), this.chosen.join(" "));
    links.write();
    this.unfoldFirst();
    scroll();
    await loader.bring();
    scroll();
  }

  unfoldFirst() { for (const column of this.columns) if (column.shown) column.unfoldFirst(); }

  // As many columns as there is room for now: the window, or a fold around the viewer, was opened.
  resized() {
    const { selection, loader } = this.chain;
    const room = this.room();
    if (room !== this.had && !this.byHand) {
      this.show(selection.pinned < 0 ? this.preferred() : this.chosen);
      this.unfoldFirst();
      loader.bring();
    }
    this.had = room;
    this.fade();
    this.chain.emit("moved");
  }

  // --- how many lines are lit

  count() {
    this.columns.forEach((column, i) => {
      const lit = column.panes.reduce((sum, pane) => sum + pane.lit.length, 0);
      const label = this.boxes[i].parentElement;
      label.querySelector("output").textContent = lit || "";
      label.toggleAttribute("data-reached", lit > 0);
    });
  }

  // The stages with lines that are lit, each with their number.
  reached() {
    return this.boxes.map((box) => box.parentElement)
      .filter((label) => label.hasAttribute("data-reached"))
      .map((label) => label.querySelector("strong").textContent + " " + label.querySelector("output").textContent);
  }
}
