// A field above a table of entries.

// So many rows are laid out while one types; the others follow when one scrolls or leaves the field.
const AT_ONCE = 50;
// So many rows become elements while nothing else is to do.
const A_SLICE = 100;
// A busy tab, or one that is not drawn, may never be idle.
const IN_ANY_CASE = { timeout: 2000 };
// What tells that somebody is there, and not only a page that loads.
const SIGNS = ["pointermove", "pointerdown", "touchstart", "wheel", "scroll", "keydown"];

// Under a pointer at rest, a page that loads gets a move of nothing.
const isOfTheBrowser = (event) => event.type === "pointermove" && !event.movementX && !event.movementY;

const counted = (number) => number.toLocaleString("en");

// The rows of a long table that are text yet, each as its HTML, and then elements that are not laid
// out: the browser finds a word in them, and says so.
class LateRows {
  constructor(box, body) {
    this.body = body;
    this.text = this.taken(box.querySelector("noscript"));
    this.elements = null;
    if (this.text.length) this.prepare(box);
  }

  taken(rest) {
    if (!rest) return [];
    const html = rest.textContent;
    rest.remove();
    return html.slice(html.indexOf("<tbody>") + 7, html.lastIndexOf("</tbody>")).split(/(?=<tr[ >])/);
  }

  prepare(box) {
    const bring = () => this.bring();
    this.elements = document.createElement("tbody");
    this.elements.setAttribute("hidden", "until-found");
    this.body.after(this.elements);
    this.button = document.createElement("button");
    this.button.type = "button";
    this.button.className = "tclab-more";
    this.button.textContent = `Show all ${counted(this.body.rows.length + this.text.length)} rows`;
    this.button.addEventListener("click", bring);
    box.append(this.button);
    this.elements.addEventListener("beforematch", bring);
    window.addEventListener("beforeprint", bring);
    this.begin = (event) => { if (!isOfTheBrowser(event)) this.slices(); };
    for (const sign of SIGNS) window.addEventListener(sign, this.begin, { passive: true });
  }

  // Makes elements, a slice at a time, from the first sign of a reader on.
  slices() {
    for (const sign of SIGNS) window.removeEventListener(sign, this.begin);
    const slice = () => {
      this.make(A_SLICE);
      if (this.text.length) whenIdle(slice, IN_ANY_CASE);
    };
    whenIdle(slice, IN_ANY_CASE);
  }

  make(number) {
    if (this.text.length) this.elements.insertAdjacentHTML("beforeend", this.text.splice(0, number).join(""));
  }

  // Puts all of them into the table.
  bring() {
    if (!this.elements) return;
    this.make(this.text.length);
    this.button.remove();
    this.body.append(...this.elements.rows);
    this.elements.remove();
    this.elements = null;
  }

  hasText(id) { return this.text.some((row) => row.startsWith(`<tr id="${id}"`)); }
}

// Only the rows with all words of the field stay.
class Filter {
  constructor(box) {
    this.box = box;
    this.body = box.querySelector("tbody");
    this.late = new LateRows(box, this.body);
    this.total = this.body.rows.length + this.late.text.length;
    this.left = []; // rows that match and are not there yet
    box.dataset.ready = "";
    this.makeField();
    this.tell(this.total);
    new Sorter(box.querySelector("table"), () => this.showAll(), (rows) => { this.rows = rows; this.texts = null; });
    this.target();
    this.listen();
  }

  makeField() {
    const label = document.createElement("label");
    label.className = "tclab-filter";
    label.textContent = "Filter ";
    this.field = document.createElement("input");
    this.field.type = "search";
    this.field.autocomplete = "off";
    this.field.spellcheck = false;
    this.field.placeholder = "words of a row";
    label.append(this.field);
    this.output = document.createElement("output");
    this.box.prepend(label, this.output);
  }

  listen() {
    const rest = () => this.rest();
    this.field.addEventListener("focus", () => this.apply()); // taking thousands of rows out
    this.field.addEventListener("blur", rest); // takes a while: not with the first letter
    this.field.addEventListener("input", () => this.apply());
    window.addEventListener("scroll", rest, { passive: true });
    window.addEventListener("beforeprint", rest);
    window.addEventListener("hashchange", () => this.target());
  }

  // All rows, once they are elements; their texts are read when the field is used.
  all() {
    this.late.bring();
    this.rows = this.rows || Array.from(this.body.rows);
    return this.rows;
  }

  matching() {
    const words = this.field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = this.all();
    this.texts = this.texts || rows.map((row) => row.textContent.toLowerCase());
    return rows.filter((_, i) => words.every((word) => this.texts[i].includes(word)));
  }

  apply() {
    const rows = this.matching();
    this.tell(rows.length);
    this.body.replaceChildren(...rows.slice(0, AT_ONCE));
    this.left = rows.slice(AT_ONCE);
  }

  rest() {
    this.body.append(...this.left);
    this.left = [];
  }

  tell(number) { this.output.textContent = `${counted(number)} of ${counted(this.total)}`; }

  has(id) {
    const rows = this.rows || Array.from(this.box.querySelectorAll("tbody tr"));
    return this.late.hasText(id) || rows.some((row) => row.id === id);
  }

  // The target of a link may be a row that is filtered out, or no element yet.
  target() {
    const id = decodeURIComponent(location.hash.slice(1));
    if (!id || !this.has(id)) return;
    const row = document.getElementById(id);
    if (!row || row.closest("[hidden]")) this.free();
    keepInView(document.getElementById(id));
  }

  free() {
    this.showAll();
    location.replace(location.hash); // now that it is there, it is the target
  }

  showAll() {
    this.field.value = "";
    this.body.replaceChildren(...this.all());
    this.left = [];
    this.tell(this.total);
  }
}

// Rows take their true heights once they are near, and push what is below them: until a reader
// moves, the row that a link leads to is brought back.
let letGo = () => {};

function keepInView(row) {
  letGo();
  const sizes = new ResizeObserver(() => row.scrollIntoView());
  for (const box of document.querySelectorAll(".tclab-entries")) sizes.observe(box);
  letGo = () => sizes.disconnect();
  for (const sign of ["wheel", "touchstart", "pointerdown", "keydown"]) {
    window.addEventListener(sign, letGo, { once: true, passive: true });
  }
}

whenReady(() => {
  for (const box of document.querySelectorAll(":is(.tclab-entries, .tclab-filtered):not([data-ready])")) new Filter(box);
});
