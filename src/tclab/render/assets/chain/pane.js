// One pane.

const CHUNK = 50; // lines that are laid out together, when they come into view

// Line → number within its pane, for what is pointed at.
const places = new WeakMap();

function flags(distances, count) {
  const flagged = new Uint8Array(count);
  let at = 0;
  for (const distance of (distances || "").split(" ")) {
    at += Number(distance);
    if (distance) flagged[at] = 1;
  }
  return flagged;
}

class Pane {
  constructor(chain, element, start, count) {
    this.chain = chain;
    this.element = element;
    this.start = start;
    this.count = count;
    this.first = Number(element.dataset.first || 1);
    this.stage = element.dataset.stage;
    this.summary = element.querySelector("summary");
    this.counter = this.summary.querySelector("small");
    this.size = this.counter.textContent;
    this.name = this.summary.querySelector("strong").textContent;
    this.away = element.querySelector(".tclab-away");
    this.pre = element.querySelector(".tclab-lines");
    this.marked = Boolean(this.away && this.away.matches("[data-marked]"));
    const bare = this.pre && this.pre.matches(".tclab-bare");
    this.machine = Boolean(bare || (this.away && !this.marked));
    this.elements = null;
    this.chunks = [];
    this.lit = [];
    this.matches = []; // of what the reader looks for
    this.whole = false; // whether it shows its noise, too
  }

  get shown() { return !this.column.element.hidden && this.element.open; }
  hides(i) { return Boolean(!this.chain.switches.all && !this.whole && this.noise && this.noise[i]); }
  has(line) { return line >= this.start && line < this.start + this.count; }
  number(line) { return line - this.start + this.first; }
  at(line) { return this.lines()[line - this.start]; }

  // Elements of the lines, in order; none where the text is not here yet.
  lines() {
    if (this.elements) return this.elements;
    if (!this.pre) return [];
    if (this.pre.matches(".tclab-bare")) {
      this.build(this.pre.textContent, this.pre.dataset.noise);
      this.pre.previousElementSibling.remove(); // the origins
    }
    return this.adopt();
  }

  adopt() {
    this.chunks = Array.from(this.pre.children);
    this.elements = this.chunks.flatMap((chunk) => Array.from(chunk.children));
    this.noise = new Uint8Array(this.count);
    this.elements.forEach((element, i) => {
      places.set(element, i);
      if (element.classList.contains("tclab-noise")) this.noise[i] = 1;
    });
    this.ranks = new Uint32Array(this.count + 1); // how many lines are shown before each
    for (let i = 0; i < this.count; i++) this.ranks[i + 1] = this.ranks[i] + 1 - this.noise[i];
    for (const i of this.lit) this.elements[i].classList.add("linked");
    this.chain.emit("lines", this);
    return this.elements;
  }

  // Lines of plain text: elements now, colours when they come into view.
  build(text, distances) {
    const lines = text.split("\n").slice(0, this.count);
    const noise = flags(distances, this.count);
    const chunks = [];
    for (let from = 0; from < lines.length; from += CHUNK) {
      const chunk = document.createElement("t-c");
      const some = lines.slice(from, from + CHUNK);
      some.forEach((line, i) => {
        const span = document.createElement("t-l");
        span.textContent = line + "\n";
        if (noise[from + i]) span.className = "tclab-noise";
        chunk.append(span);
      });
      const quiet = noise.subarray(from, from + CHUNK).reduce((a, b) => a + b, 0);
      chunk.style.cssText = `--n:${from + this.first - 1};--a:${some.length};--h:${some.length - quiet}`;
      chunks.push(chunk);
    }
    this.pre.replaceChildren(...chunks);
    this.pre.classList.remove("tclab-bare");
    this.pre.classList.add("highlight");
  }

  // Has the text brought, where it is elsewhere. Resolves when there are lines.
  async load() {
    if (!this.away || this.pre) { this.lines(); return; }
    const { code, part, src } = this.away.dataset;
    try {
      const parts = await codeAway(code, src);
      if (this.pre) return;
      this.pre = document.createElement("pre");
      this.pre.className = this.marked ? "highlight tclab-lines" : "tclab-lines";
      this.pre.style.cssText = this.away.style.cssText;
      if (this.marked) this.pre.innerHTML = parts[Number(part)];
      else this.build(...parts[Number(part)]);
      this.away.replaceWith(this.pre);
      this.adopt();
    } catch (_) {
      this.away.classList.add("tclab-failed");
    }
  }

  // Shows the lines that are hidden for being noise, too, or hides them again.
  showWhole(whole) {
    this.whole = whole;
    this.element.toggleAttribute("data-whole", whole);
  }

  // The text of each line, for finding and copying.
  texts() {
    this.known = this.known || this.lines().map((line) => Array.from(line.childNodes)
      .filter((node) => !/^(EM|BUTTON)$/.test(node.nodeName)).map((node) => node.textContent).join(""));
    return this.known;
  }

  light(closure) {
    const next = [];
    if (closure) for (let i = 0; i < this.count; i++) if (closure[this.start + i]) next.push(i);
    if (!next.length && !this.lit.length) return;
    if (this.elements) {
      const keep = new Set(next);
      for (const i of this.lit) if (!keep.has(i)) this.elements[i].classList.remove("linked");
      for (const i of next) this.elements[i].classList.add("linked");
    }
    this.lit = next;
    this.counter.textContent = next.length ? next.length + " of " + this.size : this.size;
    this.element.toggleAttribute("data-reached", next.length > 0);
  }
}
