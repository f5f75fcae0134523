/* A field above a table of entries: only the rows with all of its words stay. */
(function () {
  "use strict";
  // So many rows are laid out while one types; the others follow when one scrolls or leaves the field.
  var AT_ONCE = 50;

  function build(box) {
    var body = box.querySelector("tbody");
    var rows = Array.prototype.slice.call(body.rows);
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
    tell(rows.length);
    var later = holdBack();

    // Of a long table the first rows are laid out at once. The browser finds a word, or the target of
    // a link, in the others too, and says so.
    function holdBack() {
      if (rows.length <= 2 * AT_ONCE || wantedRow()) return null;
      var held = document.createElement("tbody");
      var button = document.createElement("button");
      held.setAttribute("hidden", "until-found");
      held.append.apply(held, rows.slice(AT_ONCE));
      body.after(held);
      button.type = "button";
      button.className = "tclab-more";
      button.textContent = "Show all " + rows.length.toLocaleString("en") + " rows";
      button.addEventListener("click", bring);
      box.append(button);
      held.addEventListener("beforematch", bring);
      box.addEventListener("scroll", bring, true);
      window.addEventListener("beforeprint", bring);
      return held;
    }

    function bring() {
      if (!later) return;
      box.querySelector(".tclab-more").remove();
      body.append.apply(body, Array.from(later.rows));
      later.remove();
      later = null;
    }

    function wantedRow() {
      var id = location.hash.slice(1);
      return id && rows.filter(function (row) { return row.id === id; })[0];
    }

    function tell(number) {
      count.textContent = number.toLocaleString("en") + " of " + rows.length.toLocaleString("en");
    }

    // Taking thousands of rows out takes a while: it is done before the first letter.
    function enter() {
      bring();
      texts = texts || rows.map(function (row) { return row.textContent.toLowerCase(); });
      apply();
    }

    function matching() {
      var words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      return rows.filter(function (_, i) {
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

    // The target of a link may be a row that is filtered out.
    function free() {
      var target = wantedRow();
      if (!target) return;
      bring();
      if (target.isConnected) return;
      field.value = "";
      body.replaceChildren.apply(body, rows);
      left = [];
      tell(rows.length);
      target.scrollIntoView({ block: "center" });
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
