// Long tables, which a click on a heading sorts.

const FEWEST_ROWS = 12; // fewer are seen at a glance

// A cell's number, NaN for a text, null for a dash.
function numberIn(text) {
  if (text === "–" || text === "") return null;
  return /^[−-]?[\d,.]+(e[+-]?\d+)?$/.test(text) ? Number(text.replaceAll(",", "").replace("−", "-")) : NaN;
}

// A number with a unit, as 2 MiB, has its value beside it.
function cellOf(row, column) {
  const data = row.cells[column].querySelector("data");
  return data ? data.value : row.cells[column].textContent.trim();
}

// The rows by a column, its smallest first, dashes last; and whether it holds texts.
function byColumn(rows, column) {
  const keys = rows.map((row) => ({ row, text: cellOf(row, column), number: numberIn(cellOf(row, column)) }));
  const some = keys.filter(({ number }) => number !== null);
  const isText = some.some(({ number }) => Number.isNaN(number));
  const compare = isText ? (a, b) => a.text.localeCompare(b.text, "en", { numeric: true }) : (a, b) => a.number - b.number;
  const dashes = keys.filter(({ number }) => number === null);
  return { isText, some: some.sort(compare).map(({ row }) => row), dashes: dashes.map(({ row }) => row) };
}

// `bring` puts rows into the table that are not there yet, `done` is told of their new order.
class Sorter {
  constructor(table, bring = () => {}, done = () => {}) {
    Object.assign(this, { table, bring, done, body: table.tBodies[0] });
    for (const head of table.querySelectorAll("thead th")) this.offer(head);
  }

  offer(head) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "tclab-sort";
    button.title = "Sort by this column";
    button.append(...head.childNodes);
    button.addEventListener("click", () => this.sort(head));
    head.append(button);
  }

  // Texts from A to Z, numbers from the largest; the other way when it is asked for again.
  sort(head) {
    this.bring();
    const { isText, some, dashes } = byColumn(Array.from(this.body.rows), head.cellIndex);
    const before = head.getAttribute("aria-sort");
    const isDown = before ? before === "ascending" : !isText;
    const sorted = [...(isDown ? some.reverse() : some), ...dashes];
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
    this.body.replaceChildren(...sorted);
    this.done(sorted);
  }
}

whenReady(() => {
  for (const table of document.querySelectorAll(".tclab-scroll > .tclab-table")) {
    const isLong = table.tBodies.length === 1 && table.tBodies[0].rows.length >= FEWEST_ROWS;
    if (isLong && table.tHead && !table.querySelector(".tclab-sort") && !table.closest(".tclab-entries, .tclab-filtered")) new Sorter(table);
  }
});
