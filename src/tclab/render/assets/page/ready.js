// Comfort only: nothing on a page needs a script.

const whenIdle = window.requestIdleCallback || ((work) => setTimeout(work, 30));

// Material replaces pages without loading them: it tells of each through document$.
function whenReady(start) {
  if (window.document$ && window.document$.subscribe) window.document$.subscribe(start);
  else if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
}
