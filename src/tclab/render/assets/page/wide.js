// What is wider than its box.

// What is far off is not laid out: it is measured when it is near, while nothing else is to do.
const near = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    near.unobserve(entry.target);
    whenIdle(() => fit(entry.target));
  }
}, { rootMargin: "100% 0px" });

function fit(box) {
  if (box.scrollWidth <= box.clientWidth) return;
  if (box.matches(".tclab-canvas")) centre(box);
  else if (!box.hasAttribute("tabindex")) box.tabIndex = 0;
}

// A drawing wider than its box begins where its first row is.
function centre(box) {
  if (box.scrollLeft) return;
  const nodes = Array.from(box.querySelectorAll(".tclab-node"), (node) => node.getBoundingClientRect());
  const [first] = nodes.sort((a, b) => a.top - b.top || a.left - b.left);
  if (!first || !first.width) return;
  const middle = first.left + first.width / 2 - box.getBoundingClientRect().left;
  box.scrollLeft = Math.max(0, middle - box.clientWidth / 2);
}

// Material's wide tables scroll, too, but it gives them no way in.
function settle() {
  const boxes = document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex]), .tclab-canvas");
  boxes.forEach((box) => near.observe(box));
}

// Material takes listings from the keyboard on screens without a mouse: those that scroll come back.
function keepReachable(changes) {
  for (const { target } of changes) {
    if (target.matches("pre > code") && !target.hasAttribute("tabindex")) near.observe(target);
  }
}

new MutationObserver(keepReachable).observe(document.documentElement, {
  attributes: true, attributeFilter: ["tabindex"], subtree: true,
});
document.addEventListener("change", settle);
window.addEventListener("load", settle);
whenReady(settle);
