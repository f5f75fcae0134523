/* tclab: comfort only. Nothing on a page needs this script.
   It opens what hides the target of a link, loads machine code when it is opened, copies a
   snippet's code, and keeps the view of graphs that was chosen. */
(function () {
  "use strict";
  var KEY = "tclab-view";

  // ------------------------------------------------------------------ the target of a link

  // Ids are plain letters: there is nothing to decode.
  function wanted() { return location.hash.slice(1); }

  function reveal() {
    var id = wanted();
    var target = id && document.getElementById(id);
    if (target) return show(target, false);
    var holder = id && holderOf(id);
    if (!holder) return;
    load(holder).then(function (there) {
      var line = document.getElementById(id);
      if (line && id === wanted()) show(line, true);
      else if (!there) location.replace(holder.querySelector("a").href + "#" + id);
    });
  }

  function show(target, came) {
    var hidden = came;
    for (var at = target.parentElement; at; at = at.parentElement) {
      if (at.tagName === "DETAILS" && !at.open) hidden = at.open = true;
      if (at.classList.contains("tclab-panel")) hidden = choose(at) || hidden;
    }
    document.querySelectorAll(".tclab-hit").forEach(function (old) { old.classList.remove("tclab-hit"); });
    if (target.closest(".tclab-code")) target.classList.add("tclab-hit"); // :target knows no latecomers
    if (hidden) target.scrollIntoView({ block: "center" });
  }

  function choose(panel) {
    var inputs = panel.parentElement.querySelectorAll(":scope > .tclab-choice > input");
    var panels = panel.parentElement.querySelectorAll(":scope > .tclab-panel");
    var input = inputs[Array.prototype.indexOf.call(panels, panel)];
    if (!input || input.checked) return false;
    return (input.checked = true);
  }

  // ---------------------------------------------------------------------- what comes later

  // The place of a line that has not been loaded yet.
  function holderOf(id) {
    var found = Array.prototype.filter.call(document.querySelectorAll(".tclab-later"), function (holder) {
      return id.indexOf(holder.dataset.ids + "-L") === 0;
    });
    return found[0];
  }

  // Puts the code in the place of the link to it; false where it cannot be had, as over file://.
  function load(holder) {
    if (!holder.loading) {
      holder.loading = fetch(holder.querySelector("a").href)
        .then(function (answer) {
          if (!answer.ok) throw new Error(String(answer.status));
          return answer.text();
        })
        .then(function (text) {
          var page = new DOMParser().parseFromString(text, "text/html");
          holder.replaceWith(document.adoptNode(page.querySelector(".tclab-code")));
          return true;
        })
        .catch(function () { return false; });
    }
    return holder.loading;
  }

  // ------------------------------------------------------------------------------- folds

  // Whoever opens one end of a listing wants the listing: the other end opens too.
  function together(fold) {
    var top = fold.getBoundingClientRect().top;
    var others = fold.parentElement.querySelectorAll(":scope > details");
    others.forEach(function (other) { other.open = fold.open; });
    window.scrollBy(0, fold.getBoundingClientRect().top - top);
  }

  function toggled(event) {
    var fold = event.target;
    if (!fold.matches || !fold.matches("details")) return;
    var holder = fold.open && fold.querySelector(":scope > .tclab-later");
    if (holder) load(holder);
    if (fold.parentElement.matches(".tclab-excerpt")) together(fold);
  }

  // -------------------------------------------------------------------------------- copying

  // All lines of the block around the button, the folded ones too.
  function copy(button) {
    var around = button.closest(".tclab-listing") || button.parentElement;
    var code = Array.prototype.map.call(around.querySelectorAll("pre > code"), function (block) {
      return block.textContent;
    });
    navigator.clipboard.writeText(code.join("")).then(function () {
      button.textContent = "copied";
      setTimeout(function () { button.textContent = "copy"; }, 2000);
    });
  }

  // Where a part of a listing is shown, Material's own button is not: it would copy the part.
  function offerCopies() {
    document.querySelectorAll(".tclab-excerpt").forEach(function (excerpt) {
      if (excerpt.querySelector(".tclab-copy") || excerpt.closest(".tclab-listing")) return;
      var button = document.createElement("button");
      button.type = "button";
      button.className = "tclab-copy";
      button.textContent = "copy";
      excerpt.prepend(button, " "); // so that no word runs into the next
    });
  }

  function clicked(event) {
    var button = event.target.closest && event.target.closest(".tclab-copy");
    if (button && navigator.clipboard) copy(button);
  }

  // ------------------------------------------------------------------- what is wider than its box

  // What is far off is not laid out: it is measured when it is near, while nothing else is to do.
  var whenIdle = window.requestIdleCallback || function (call) { setTimeout(call, 30); };
  var near = new IntersectionObserver(function (entries) {
    entries.forEach(function (entry) {
      if (!entry.isIntersecting) return;
      near.unobserve(entry.target);
      whenIdle(function () { fit(entry.target); });
    });
  }, { rootMargin: "100% 0px" });

  function measure(boxes) {
    boxes.forEach(function (box) { near.observe(box); });
  }

  function fit(box) {
    if (box.scrollWidth <= box.clientWidth) return;
    if (box.matches(".tclab-canvas")) centre(box);
    else if (!box.hasAttribute("tabindex")) box.tabIndex = 0;
  }

  // Material takes listings from the keyboard on screens without a mouse: those that scroll come back.
  function keepReachable(changes) {
    measure(changes.map(function (change) { return change.target; }).filter(function (code) {
      return code.matches("pre > code") && !code.hasAttribute("tabindex");
    }));
  }

  // Material's wide tables scroll, too, but it gives them no way in.
  function settle() {
    measure(Array.from(document.querySelectorAll(
      ".md-typeset__scrollwrap:not([tabindex]), .tclab-canvas"
    )));
  }

  // ------------------------------------------------------------------------------- pictures

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
  function centre(box) {
    if (box.scrollLeft) return;
    var tops = Array.prototype.map.call(box.querySelectorAll(".tclab-node"), function (node) {
      return node.getBoundingClientRect();
    });
    var first = tops.sort(function (a, b) { return a.top - b.top || a.left - b.left; })[0];
    if (!first || !first.width) return;
    var middle = first.left + first.width / 2 - box.getBoundingClientRect().left;
    box.scrollLeft = Math.max(0, middle - box.clientWidth / 2);
  }

  // ------------------------------------------------------------------------------------ page

  function start() { restore(); reveal(); offerCopies(); settle(); }

  document.addEventListener("click", clicked);
  document.addEventListener("toggle", toggled, true);
  document.addEventListener("change", function (event) { remember(event); settle(); });
  window.addEventListener("hashchange", reveal);
  new MutationObserver(keepReachable).observe(document.documentElement, {
    attributes: true, attributeFilter: ["tabindex"], subtree: true
  });
  window.addEventListener("load", settle);
  // Material replaces pages without loading them: it tells of each through document$.
  if (window.document$ && window.document$.subscribe) window.document$.subscribe(start);
  else if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
