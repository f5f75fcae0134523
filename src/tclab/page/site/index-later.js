/* The search index is more than half of what a page would load. It is asked for when somebody turns
   to the search; until then Material's request for it waits. Stands before Material's script. */
(function () {
  "use strict";
  var requests = XMLHttpRequest.prototype;
  var open = requests.open, send = requests.send;
  var waiting = [], wanted = false;

  requests.open = function (method, address) {
    this.tclabLater = /\/search_index\.json$/.test(address);
    return open.apply(this, arguments);
  };

  requests.send = function () {
    if (!this.tclabLater || wanted) return send.apply(this, arguments);
    waiting.push(send.bind(this, arguments[0]));
  };

  // The field has the focus, also after a key or a link that searches; or a pointer is on its way.
  function turn(event) {
    if (wanted || !event.target.closest || !event.target.closest(".md-search, [for=__search]")) return;
    wanted = true;
    waiting.forEach(function (go) { go(); });
  }

  ["focusin", "pointerover", "touchstart"].forEach(function (name) {
    addEventListener(name, turn, { passive: true });
  });
})();
