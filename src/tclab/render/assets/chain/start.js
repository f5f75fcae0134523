// ---------------------------------------------------------------------------------- the page

const chains = new Map();

function whenIdle(work) {
  if (window.requestIdleCallback) requestIdleCallback(work, { timeout: 2000 });
  else setTimeout(work, 50);
}

function visit() {
  const anchor = address.anchor();
  if (anchor) chains.forEach((chain) => chain.visit(anchor));
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
  chains.forEach((chain) => {
    if (chain.pinned < 0) return;
    chain.comeIntoView(false);
    chain.scroll();
  });
}));

// What a fold holds compressed is put there when it is opened.
document.addEventListener("toggle", (event) => {
  if (!event.target.matches("details[open]")) return;
  for (const held of event.target.querySelectorAll("[data-packed]")) {
    const name = held.dataset.packed;
    delete held.dataset.packed;
    unpacked(name).then((parts) => { held.outerHTML = parts[0]; });
  }
}, true);

addEventListener("hashchange", visit);
if (window.document$ && window.document$.subscribe) window.document$.subscribe(start);
else if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
else start();
