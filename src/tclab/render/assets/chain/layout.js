// ------------------------------------------------------- which stages are shown, and how wide

Object.assign(Chain.prototype, {
  // How many columns there is room for; chain.css knows the same widths.
  room() {
    const wide = this.root.clientWidth;
    return NARROW.matches ? 1 : wide >= 1280 ? 4 : wide >= 900 ? 3 : 2;
  },

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
  },

  // On a phone the last of them comes to the front, below Python.
  stacked(stages) {
    const front = stages.filter((stage) => stage !== "python").slice(-1);
    const python = this.columns.filter((column) => column.stage === "python").map((c) => c.stage);
    return python.concat(front.length ? front : this.chosen().filter((s) => s !== "python").slice(-1));
  },

  choose(stages) {
    const shown = NARROW.matches ? this.stacked(stages) : stages;
    this.columns.forEach((column, i) => {
      column.element.hidden = !shown.includes(column.stage);
      this.boxes[i].checked = column.shown;
      column.element.removeAttribute("data-last");
    });
    const last = this.columns.filter((column) => column.shown).pop();
    if (last) last.element.toggleAttribute("data-last", true);
  },

  chosen() { return this.columns.filter((c) => c.shown).map((c) => c.stage); },

  // The reader ticked a box.
  rechoose(box) {
    const ticked = this.boxes.filter((b) => b.checked && b !== box).map((b) => b.value);
    this.choose(box.checked || NARROW.matches ? ticked.concat(box.value) : ticked);
    this.byHand = true;
    memory.set("stages-" + this.room(), this.chosen().join(" "));
    this.write();
    for (const column of this.columns) if (column.shown && !column.panes.some((p) => p.element.open)) column.unfold();
    this.bring().then(() => this.pinned >= 0 && this.scroll());
    if (this.pinned >= 0) this.scroll();
  },

  // ------------------------------------------------------------------------------------ widths

  // Widths that the reader dragged to; until then columns are as wide as their content asks for.
  widen() {
    let kept = {};
    try { kept = JSON.parse(memory.get("widths") || "{}"); } catch (_) { /* not ours */ }
    for (const column of this.columns) {
      if (kept[column.stage] > 0) column.element.style.setProperty("--w", kept[column.stage]);
    }
  },

  // The column that a grip is at the right of, and the next one shown.
  neighbours(grip) {
    const shown = this.columns.filter((column) => column.shown);
    const left = shown.findIndex((column) => column.element.contains(grip));
    return [shown[left], shown[left + 1]];
  },

  // Gives `left` this many pixels of what it and its neighbour have together.
  divide([left, right], pixels) {
    if (!right) return;
    const weight = (column) => Number(getComputedStyle(column.element).flexGrow);
    const wide = (column) => column.element.getBoundingClientRect().width;
    const both = wide(left) + wide(right);
    const weights = weight(left) + weight(right);
    const share = Math.min(Math.max(pixels, 120), both - 120) / both;
    left.element.style.setProperty("--w", (weights * share).toFixed(2));
    right.element.style.setProperty("--w", (weights * (1 - share)).toFixed(2));
    this.mark();
  },

  keepWidths() {
    const widths = this.columns.map((c) => [c.stage, Number(c.element.style.getPropertyValue("--w"))]);
    memory.set("widths", JSON.stringify(Object.fromEntries(widths)));
  },

  drag(event) {
    const grip = event.target;
    const pair = this.neighbours(grip);
    const offset = pair[0].element.getBoundingClientRect().right - event.clientX;
    const left = () => pair[0].element.getBoundingClientRect().left;
    const move = (e) => this.divide(pair, e.clientX + offset - left());
    const end = () => {
      grip.removeEventListener("pointermove", move);
      this.keepWidths();
    };
    grip.setPointerCapture(event.pointerId);
    grip.addEventListener("pointermove", move);
    grip.addEventListener("lostpointercapture", end, { once: true });
    event.preventDefault();
  },

  // ← and → on a grip.
  resize(event) {
    const by = { ArrowLeft: -24, ArrowRight: 24 }[event.key];
    if (!by) return false;
    const pair = this.neighbours(event.target);
    this.divide(pair, pair[0].element.getBoundingClientRect().width + by);
    this.keepWidths();
    return true;
  },
});
