// Colours: of machine code, of Python lines.

const COLOURS = 8; // --tclab-source-0 … 7 in chain.css

// Each line has the colours of the Python lines that it is made from.
class Hues {
  constructor(chain) {
    this.chain = chain;
    this.waiting = []; // chunks of lines that came before the colours were known
    chain.on("lines", (pane) => this.watch(pane));
  }

  // Which Python line each line is made from: found out when there is time.
  know() {
    const { panes, index } = this.chain;
    const python = panes.filter((pane) => pane.stage === "python");
    const sources = python.flatMap((p) => Array.from({ length: p.count }, (_, i) => p.start + i))
      .filter((line) => index.linked(line));
    const owners = index.owners(sources);
    const telling = [...new Set(owners.flat())].sort((a, b) => a - b);
    this.owners = owners.map((of) => of.map((place) => sources[place]));
    this.hue = new Map(telling.map((place, i) => [sources[place], i % COLOURS]));
    for (const [line] of this.hue) this.owners[line] = [line];
    for (const chunk of this.waiting) this.seen.observe(chunk);
    this.chain.view.rest();
  }

  // The Python lines that a line is made from, once they are known.
  of(line) { return (this.owners && this.owners[line]) || []; }

  // Chunks of lines get their colours when they come into view.
  watch(pane) {
    for (const chunk of pane.chunks) chunk.tclab = pane;
    if (!window.IntersectionObserver) { whenIdle(() => pane.chunks.forEach((c) => this.dress(c)), { timeout: 2000 }); return; }
    this.seen = this.seen || new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        this.seen.unobserve(entry.target);
        this.dress(entry.target);
      }
    }, { rootMargin: "300px" });
    if (this.hue) for (const chunk of pane.chunks) this.seen.observe(chunk);
    else this.waiting.push(...pane.chunks);
  }

  dress(chunk) {
    const pane = chunk.tclab;
    for (const element of chunk.children) {
      if (pane.machine) colour(element, pane.stage);
      this.own(element, pane, places.get(element));
    }
  }

  // The colours of the Python lines that a line is made from; their numbers where a run begins.
  own(element, pane, i) {
    const owners = this.of(pane.start + i);
    if (!owners.length) return;
    const [first, second] = owners.map((line) => `var(--tclab-source-${this.hue.get(line)})`);
    element.style.setProperty("--c", first);
    element.style.setProperty("--d", second || first);
    let before = i - 1;
    while (before >= 0 && pane.noise[before]) before--;
    const numbers = (of) => (of || []).map((line) => this.chain.pane(line).number(line)).join(" ");
    const own = numbers(owners);
    if (pane.stage === "python" || (before >= 0 && numbers(this.owners[pane.start + before]) === own)) return;
    element.dataset.of = numbers([owners[0]]) + (second ? "+" : "");
  }
}
