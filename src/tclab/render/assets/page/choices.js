// What a reader chose last: the view of graphs, boxes that are ticked.

const VIEW = "tclab-view";

function label(input) {
  return input.nextElementSibling ? input.nextElementSibling.textContent : "";
}

function remember(input) {
  if (!input.matches || !input.matches(".tclab-choice[data-keep] > input")) return;
  try { localStorage.setItem(VIEW, label(input)); } catch (_) { /* private window */ }
}

function restore() {
  let view;
  try { view = localStorage.getItem(VIEW); } catch (_) { return; }
  if (!view) return;
  for (const input of document.querySelectorAll(".tclab-choice[data-keep] > input")) {
    if (label(input) === view) input.checked = true;
  }
}

// --- boxes that stay ticked from page to page

const TICKED = "input[type=checkbox][data-keep]";

function keep(box) {
  if (!box.matches || !box.matches(TICKED)) return;
  try { localStorage.setItem(box.id, box.checked ? "on" : ""); } catch (_) { /* private window */ }
}

function tick() {
  for (const box of document.querySelectorAll(TICKED)) {
    try { box.checked = Boolean(localStorage.getItem(box.id)); } catch (_) { return; }
  }
}

document.addEventListener("change", ({ target }) => { remember(target); keep(target); });
whenReady(() => { restore(); tick(); });
