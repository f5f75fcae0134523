/* tclab: comfort only. Nothing on a page needs this script.
   It opens what hides the target of a link, and keeps the view of graphs that was chosen. */
(function () {
  "use strict";
  var KEY = "tclab-view";

  function reveal() {
    var id = decodeURIComponent(location.hash.slice(1));
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

  function start() { restore(); reveal(); }

  document.addEventListener("change", remember);
  window.addEventListener("hashchange", reveal);
  // Material replaces pages without loading them: it tells of each through document$.
  if (window.document$ && window.document$.subscribe) window.document$.subscribe(start);
  else if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
