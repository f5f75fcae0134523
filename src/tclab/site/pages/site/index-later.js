/* The search index is more than half of what a page would load. It is asked for when somebody turns
   to the search; until then Material's request for it waits. Stands before Material's script. */
(() => {
  "use strict";
  const requests = XMLHttpRequest.prototype;
  const { open, send } = requests;
  const waiting = [];
  let isWanted = false;

  requests.open = function (method, address) {
    this.tclabLater = /\/search_index\.json$/.test(address);
    return open.apply(this, arguments);
  };

  requests.send = function () {
    if (!this.tclabLater || isWanted) return send.apply(this, arguments);
    waiting.push(() => send.apply(this, arguments));
  };

  // The field has the focus, also after a key or a link that searches; or a pointer is on its way.
  function turn({ target }) {
    if (isWanted || !target.closest || !target.closest(".md-search, [for=__search]")) return;
    isWanted = true;
    for (const go of waiting) go();
  }

  for (const name of ["focusin", "pointerover", "touchstart"]) {
    addEventListener(name, turn, { passive: true });
  }
})();
