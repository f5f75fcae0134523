/* A field above a table of entries: only the rows with all of its words stay. */
(function () {
  "use strict";
  // So many rows are laid out while one types; the others follow when one scrolls or leaves the field.
  var AT_ONCE = 50;

  // So many rows become elements while nothing else is to do.
  var A_SLICE = 100;
  // What tells that somebody is there, and not only a page that loads.
  var SIGNS = ["pointermove", "pointerdown", "touchstart", "wheel", "scroll", "keydown"];
  var whenIdle = window.requestIdleCallback || function (call) { setTimeout(call, 30); };

  // The rows of a long table that are text yet, each as its HTML.
  function asText(box) {
    var rest = box.querySelector("noscript");
    if (!rest) return [];
    var html = rest.textContent;
    rest.remove();
    return html.slice(html.indexOf("<tbody>") + 7, html.lastIndexOf("</tbody>")).split(/(?=<tr )/);
  }

  function build(box) {
    var body = box.querySelector("tbody");
    var text = asText(box);
    var total = body.rows.length + text.length;
    var rows = null; // all of them, once they are elements
    var texts = null; // read when the field is used
    var label = document.createElement("label");
    var field = document.createElement("input");
    var count = document.createElement("output");
    var left = [];  // rows that match and are not there yet
    box.dataset.ready = "";
    label.className = "tclab-filter";
    label.textContent = "Filter ";
    field.type = "search";
    field.autocomplete = "off";
    field.spellcheck = false;
    field.placeholder = "words of a row";
    label.append(field);
    box.prepend(label, count);
    tell(total);
    var later = text.length ? holdBack() : null;
    if (later) free();

    // Rows that are elements, but not laid out. The browser finds a word in them, and says so.
    function holdBack() {
      var held = document.createElement("tbody");
      var button = document.createElement("button");
      held.setAttribute("hidden", "until-found");
      body.after(held);
      button.type = "button";
      button.className = "tclab-more";
      button.textContent = "Show all " + total.toLocaleString("en") + " rows";
      button.addEventListener("click", bring);
      box.append(button);
      held.addEventListener("beforematch", bring);
      box.addEventListener("scroll", bring, true);
      window.addEventListener("beforeprint", bring);
      SIGNS.forEach(function (sign) { window.addEventListener(sign, begin, { passive: true }); });
      return held;
    }

    function begin() {
      SIGNS.forEach(function (sign) { window.removeEventListener(sign, begin); });
      whenIdle(function slice() {
        make(A_SLICE);
        if (text.length) whenIdle(slice);
      });
    }

    function make(number) {
      if (text.length) later.insertAdjacentHTML("beforeend", text.splice(0, number).join(""));
    }

    function bring() {
      if (!later) return;
      make(text.length);
      box.querySelector(".tclab-more").remove();
      body.append.apply(body, Array.from(later.rows));
      later.remove();
      later = null;
    }

    function all() {
      bring();
      rows = rows || Array.from(body.rows);
      return rows;
    }

    function has(id) {
      var start = '<tr id="' + id + '"';
      return text.some(function (row) { return row.startsWith(start); })
        || (rows || Array.from(box.querySelectorAll("tbody tr"))).some(function (row) { return row.id === id; });
    }

    function tell(number) {
      count.textContent = number.toLocaleString("en") + " of " + total.toLocaleString("en");
    }

    // Taking thousands of rows out takes a while: it is done before the first letter.
    function enter() {
      texts = texts || all().map(function (row) { return row.textContent.toLowerCase(); });
      apply();
    }

    function matching() {
      var words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      return all().filter(function (_, i) {
        return words.every(function (word) { return texts[i].indexOf(word) >= 0; });
      });
    }

    function apply() {
      var wanted = matching();
      tell(wanted.length);
      body.replaceChildren.apply(body, wanted.slice(0, AT_ONCE));
      left = wanted.slice(AT_ONCE);
    }

    function rest() {
      if (left.length) body.append.apply(body, left);
      left = [];
    }

    // The target of a link may be a row that is filtered out, or no element yet.
    function free() {
      var id = decodeURIComponent(location.hash.slice(1));
      if (!id || !has(id)) return;
      if (document.getElementById(id) && !later) return;
      field.value = "";
      body.replaceChildren.apply(body, all());
      left = [];
      tell(total);
      location.replace(location.hash); // now that it is there, it is the target
      document.getElementById(id).scrollIntoView({ block: "center" });
    }

    field.addEventListener("focus", enter);
    field.addEventListener("blur", rest);
    box.addEventListener("scroll", rest, true);
    window.addEventListener("beforeprint", rest);
    field.addEventListener("input", apply);
    window.addEventListener("hashchange", free);
  }

  function start() { document.querySelectorAll(".tclab-entries:not([data-ready])").forEach(build); }

  if (window.document$ && window.document$.subscribe) window.document$.subscribe(start);
  else if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
