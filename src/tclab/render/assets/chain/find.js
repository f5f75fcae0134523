// Find in a column.

class Find {
  constructor(column) {
    this.column = column;
    this.box = column.element.querySelector(".tclab-find");
    this.input = this.box.querySelector("input");
    this.output = this.box.querySelector("output");
    this.input.addEventListener("input", () => this.look(this.input.value));
    this.input.addEventListener("keydown", (event) => {
      if (this.key(event)) event.preventDefault();
    });
  }

  key({ key, shiftKey }) {
    const { walk, matches } = this.column;
    if (key === "Escape") this.open(false);
    else if (key === "Enter") walk.go(matches, shiftKey ? -1 : 1);
    else return false;
    return true;
  }

  open(yes) {
    const button = this.column.button("find");
    this.box.hidden = !yes;
    button.setAttribute("aria-expanded", yes);
    if (yes) { this.input.focus(); this.input.select(); return; }
    this.input.value = "";
    this.look("");
    if (this.column.element.contains(document.activeElement)) button.focus();
  }

  async look(text) {
    const { panes, chain } = this.column;
    if (text) await Promise.all(panes.map((pane) => pane.load()));
    const wanted = this.input.value === text ? text.toLowerCase() : ""; // or typed on since
    for (const pane of panes) this.mark(pane, wanted);
    this.column.count();
    chain.emit("moved");
  }

  mark(pane, wanted) {
    for (const i of pane.matches) pane.elements[i].classList.remove("tclab-match");
    pane.matches = [];
    if (!wanted) return;
    pane.texts().forEach((line, i) => {
      if (line.toLowerCase().includes(wanted) && !pane.hides(i)) pane.matches.push(i);
    });
    for (const i of pane.matches) pane.elements[i].classList.add("tclab-match");
  }

  count() {
    this.output.textContent = this.input.value ? this.column.walk.which(this.column.matches) : "";
  }
}
