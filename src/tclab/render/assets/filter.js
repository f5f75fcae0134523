/* A field above a table of entries: only the rows with all of its words stay. */
(function () {
  "use strict";
  // So many rows are laid out at once; the others follow while nothing is typed.
  var AT_ONCE = 50;

  function build(box) {
    var body = box.querySelector("tbody");
    var rows = Array.prototype.slice.call(body.rows);
    var texts = null; // read when the field is used
    var label = document.createElement("label");
    var field = document.createElement("input");
    var count = document.createElement("output");
    var later = 0;
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

    function tell(number) {
      count.textContent = number.toLocaleString("en") + " of " + rows.length.toLocaleString("en");
    }

    function read() {
      texts = texts || rows.map(function (row) { return row.textContent.toLowerCase(); });
    }

    function matching() {
      var words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      read();
      return rows.filter(function (_, i) {
        return words.every(function (word) { return texts[i].indexOf(word) >= 0; });
      });
    }

    function apply() {
      var wanted = matching();
      clearTimeout(later);
      tell(wanted.length);
      body.replaceChildren.apply(body, wanted.slice(0, AT_ONCE));
      if (wanted.length > AT_ONCE) later = setTimeout(rest, 300, wanted);
    }

    function rest(wanted) { body.append.apply(body, wanted.slice(AT_ONCE)); }

    // The target of a link may be a row that is filtered out.
    function free() {
      var id = location.hash.slice(1);
      var target = id && rows.filter(function (row) { return row.id === id; })[0];
      if (!target || target.isConnected) return;
      field.value = "";
      body.replaceChildren.apply(body, rows);
      tell(rows.length);
      target.scrollIntoView({ block: "center" });
    }

    field.addEventListener("focus", read);
    field.addEventListener("input", apply);
    window.addEventListener("hashchange", free);
  }

  function start() { document.querySelectorAll(".tclab-entries:not([data-ready])").forEach(build); }

  if (window.document$ && window.document$.subscribe) window.document$.subscribe(start);
  else if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
