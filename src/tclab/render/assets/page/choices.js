// The view of graphs that was chosen last.

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

document.addEventListener("change", (event) => remember(event.target));
whenReady(restore);
