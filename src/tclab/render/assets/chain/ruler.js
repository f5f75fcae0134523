// Marks beside a scrollbar.

class Ruler {
  constructor(column) {
    this.column = column;
    this.element = column.element.querySelector(".tclab-ruler");
    this.element.addEventListener("pointerdown", (event) => this.jump(event));
  }

  // A mark for each group of lines that would touch, as HTML.
  marks() {
    const { column, element } = this;
    const scale = element.clientHeight / column.scroller.scrollHeight;
    const groups = { lit: [], matches: [] };
    for (const pane of column.panes) {
      if (!pane.lit.length && !pane.matches.length) continue;
      const height = column.heights(pane);
      for (const [kind, own] of Object.entries(groups)) {
        const lines = pane.element.open && pane.elements ? pane[kind] : pane[kind].slice(0, 1);
        for (const i of lines) this.join(own, Math.round(height(i) * scale));
      }
    }
    const html = (own, name) => own.map(([from, to]) =>
      `<i class="${name}" style="top:${from}px;height:${Math.max(3, to - from + 2)}px"></i>`).join("");
    return html(groups.lit, "") + html(groups.matches, "tclab-match");
  }

  join(groups, at) {
    const last = groups[groups.length - 1];
    if (last && at - last[1] <= 3) last[1] = at;
    else groups.push([at, at]);
  }

  draw(marks) {
    if (this.drawn !== marks) this.element.innerHTML = this.drawn = marks;
  }

  jump(event) {
    const { scroller } = this.column;
    const box = this.element.getBoundingClientRect();
    const share = (event.clientY - box.top) / box.height;
    scroller.scrollTop = share * scroller.scrollHeight - scroller.clientHeight / 2;
  }
}

// Draws the marks of all columns with the next frame: all measured, then all changed.
class Rulers {
  constructor(chain) {
    this.chain = chain;
    chain.on("moved", () => {
      this.frame = this.frame || requestAnimationFrame(() => this.draw());
    });
  }

  draw() {
    this.frame = 0;
    const rulers = this.chain.columns.filter((column) => column.shown).map((column) => column.ruler);
    const marks = rulers.map((ruler) => ruler.marks());
    const areLong = rulers.map(({ column }) => column.scroller.scrollHeight > column.scroller.clientHeight);
    rulers.forEach((ruler, i) => {
      ruler.draw(marks[i]);
      ruler.column.scroller.toggleAttribute("data-long", areLong[i]);
    });
  }
}
