// The page.

const chains = new Map();

function visit() {
  chains.forEach((chain) => chain.links.visit(address.anchor()));
}

function start() {
  document.querySelectorAll(".tclab-chain").forEach((root) => {
    if (chains.has(root) || root.dataset.started) return; // a notebook brings the script again
    root.dataset.started = "yes";
    chains.set(root, new Chain(root));
  });
  visit();
}

// The browser goes to an anchor on its own, before and after: the last word is the viewer's, as
// long as the reader has not moved.
let moved = false;
for (const event of ["wheel", "touchstart", "pointerdown", "keydown"]) {
  addEventListener(event, () => { moved = true; }, { once: true, passive: true, capture: true });
}
addEventListener("load", () => setTimeout(() => {
  if (moved) return;
  chains.forEach(({ selection, view }) => {
    if (selection.pinned < 0) return;
    view.comeIntoView(false);
    view.scroll();
  });
}));

// What a fold has in it compressed is put there when it is opened; what folds inside it have, later.
document.addEventListener("toggle", (event) => {
  if (!event.target.matches("details[open]")) return;
  for (const place of event.target.querySelectorAll("[data-packed]")) {
    if (place.closest("details") !== event.target) continue;
    const name = place.dataset.packed;
    delete place.dataset.packed;
    inPage(name).then((parts) => { place.outerHTML = parts[0]; start(); });
  }
}, true);

// Keys while the focus is in no viewer: they are for the one with a line pinned. The site's theme
// would go to the next page for n and to the one before for p, where a viewer says otherwise.
const OWN = new Set(["n", "p"]);
const TYPED = "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]";
document.addEventListener("keydown", (event) => {
  const isModified = event.ctrlKey || event.metaKey || event.altKey;
  if (!chains.size || isModified || event.target.closest(TYPED)) return;
  const chain = Array.from(chains.values()).find(({ selection }) => selection.pinned >= 0);
  if (chain && chain.keyboard.key(event)) event.preventDefault();
  if (OWN.has(event.key)) event.stopPropagation();
});

addEventListener("hashchange", visit);
addEventListener("popstate", visit);
whenReady(start);
