// Comfort only: nothing on a page needs a script.

const whenIdle = window.requestIdleCallback || ((work) => setTimeout(work, 30));

// What is JSON, compressed with gzip, in base64.
async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

// Material replaces pages without loading them: it tells of each through document$.
function whenReady(start) {
  if (window.document$ && window.document$.subscribe) window.document$.subscribe(start);
  else if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
}
