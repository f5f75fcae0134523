/* tclab: comfort only. Nothing on a page needs this script.
   It opens what hides the target of a link, and keeps the view of graphs that was chosen. */
(function () {
  "use strict";
  var KEY = "tclab-view";

  function reveal() {
    var id = location.hash.slice(1); // ids are plain letters: nothing to decode
    var target = id && document.getElementById(id);
    if (!target) return;
    var hidden = false;
    for (var at = target.parentElement; at; at = at.parentElement) {
      if (at.tagName === "DETAILS" && !at.open) hidden = at.open = true;
      if (at.classList.contains("tclab-panel")) hidden = show(at) || hidden;
    }
    if (hidden) target.scrollIntoView({ block: "center" });
  }

  function show(panel) {
    var inputs = panel.parentElement.querySelectorAll(":scope > .tclab-choice > input");
    var panels = panel.parentElement.querySelectorAll(":scope > .tclab-panel");
    var input = inputs[Array.prototype.indexOf.call(panels, panel)];
    if (!input || input.checked) return false;
    return (input.checked = true);
  }

  function label(input) {
    return input.nextElementSibling ? input.nextElementSibling.textContent : "";
  }

  function remember(event) {
    var input = event.target;
    if (!input.matches || !input.matches(".tclab-choice[data-keep] > input")) return;
    try { localStorage.setItem(KEY, label(input)); } catch (_) { /* private window */ }
  }

  function restore() {
    var chosen;
    try { chosen = localStorage.getItem(KEY); } catch (_) { return; }
    if (!chosen) return;
    document.querySelectorAll(".tclab-choice[data-keep] > input").forEach(function (input) {
      if (label(input) === chosen) input.checked = true;
    });
  }

  // A drawing wider than its box begins where its first row is.
  function centre() {
    document.querySelectorAll(".tclab-canvas").forEach(function (box) {
      if (box.scrollWidth <= box.clientWidth || box.scrollLeft) return;
      var tops = Array.prototype.map.call(box.querySelectorAll(".tclab-node"), function (node) {
        return node.getBoundingClientRect();
      });
      var first = tops.sort(function (a, b) { return a.top - b.top || a.left - b.left; })[0];
      if (!first || !first.width) return;
      var middle = first.left + first.width / 2 - box.getBoundingClientRect().left;
      box.scrollLeft = Math.max(0, middle - box.clientWidth / 2);
    });
  }

  function start() { restore(); reveal(); requestAnimationFrame(centre); }

  document.addEventListener("change", function (event) { remember(event); centre(); });
  window.addEventListener("hashchange", reveal);
  window.addEventListener("load", centre);
  // Material replaces pages without loading them: it tells of each through document$.
  if (window.document$ && window.document$.subscribe) window.document$.subscribe(start);
  else if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
