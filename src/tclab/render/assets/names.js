/* Names in the site's search: operators, settings, logs, breaks, instructions, kernels. They are a file of their own, asked
   for when somebody searches, and their results stand above those of the prose. */
(function () {
  "use strict";
  var MOST = 4;
  var names = null, asked = false, list = null;

  function base() { return JSON.parse(document.getElementById("__config").textContent).base; }

  // A script, not a request: it works over file://, too.
  function load(field) {
    if (asked) return;
    asked = true;
    var script = document.createElement("script");
    script.src = base() + "/search/names.js";
    script.onload = function () { names = unpack(window.tclabNames || []); show(field); };
    document.head.append(script);
  }

  function unpack(groups) {
    var all = [];
    groups.forEach(function (group) {
      group.entries.forEach(function (entry) {
        all.push({
          name: entry[0], low: entry[0].toLowerCase(), text: entry[1], title: group.title,
          full: group.title.toLowerCase() + "." + entry[0].toLowerCase(),
          url: entry[2] || group.url + "#" + group.prefix + anchor(entry[0]),
          exact: Boolean(group.exact), code: Boolean(group.code), words: null
        });
      });
    });
    return all;
  }

  // As an entry's id is made.
  function anchor(name) { return name.replace(/[^A-Za-z0-9_-]+/g, "-").replace(/^-+|-+$/g, ""); }

  function wordsOf(text) { return text.toLowerCase().match(/[a-z_]\w{2,}/g) || []; }

  // How well an entry fits: its name, or most words of its message. 0: not at all.
  function fit(entry, query) {
    if (entry.code && entry.low === query.whole) return 860;  // below what is named so and explained
    if (entry.exact) return query.pieces.some(function (piece) { return last(piece, entry.low); }) ? 850 : 0;
    if (entry.low === query.whole || entry.full === query.whole) return 1000;
    var said = query.words.length >= 3 && !entry.code ? message(entry, query) : 0;
    if (query.pieces.indexOf(entry.low) >= 0) return Math.max(said, 900);
    if (query.pieces.some(function (piece) { return ends(entry, piece); })) return Math.max(said, 800 - entry.low.length);
    if (query.single && query.whole.length > 2) {
      var at = entry.low.indexOf(query.whole);
      if (at >= 0) return (at ? 400 : 600) - entry.low.length;
    }
    return said;
  }

  function ends(entry, piece) {
    return entry.full === piece || entry.full.slice(-piece.length - 1) === "." + piece;
  }

  function last(piece, name) { return piece === name || piece.slice(-name.length - 1) === "." + name; }

  // All words of a sentence say more than one name in it.
  function message(entry, query) {
    entry.words = entry.words || new Set(wordsOf(entry.name + " " + entry.text));
    var there = query.words.filter(function (word) { return entry.words.has(word); }).length;
    var share = there / query.words.length;
    if (share < 0.75) return 0;
    return (share === 1 ? 950 : 200 * share) - entry.words.size / 100;
  }

  function read(text) {
    var plain = text.trim().replace(/^torch\.ops\.|\.default$/g, "");
    var pieces = plain.match(/[\w.]*\w/g) || [];
    var single = pieces.length === 1;
    // In a sentence only what cannot be a plain word is a name.
    var named = pieces.filter(function (piece) { return single || /\w_\w|^_|\d|[a-z][A-Z]|\w\.\w+\.\w/.test(piece); });
    var rest = plain.split(/\s+/).filter(function (word) { return !/\w\.\w/.test(word); }).join(" ");
    return {
      whole: plain.toLowerCase(), single: single, words: Array.from(new Set(wordsOf(rest))),
      pieces: named.map(function (piece) { return piece.toLowerCase(); })
    };
  }

  function best(text) {
    var query = read(text);
    if (!query.whole) return [];
    var fits = names.map(function (entry) { return [fit(entry, query), entry]; });
    fits = fits.filter(function (pair) { return pair[0] > 0; });
    fits.sort(function (a, b) { return b[0] - a[0] || (a[1].low < b[1].low ? -1 : 1); });
    return fits.slice(0, MOST).map(function (pair) { return pair[1]; });
  }

  function code(line) {
    var shown = document.createElement("code");
    shown.textContent = line;
    return shown;
  }

  function item(entry) {
    var row = document.createElement("li");
    var link = document.createElement("a");
    var article = document.createElement("article");
    var head = document.createElement("h2");
    var text = document.createElement("p");
    row.className = "md-search-result__item";
    link.className = "md-search-result__link";
    link.href = new URL(base() + "/" + entry.url, location.href).href;
    article.className = "md-search-result__article md-typeset";
    head.textContent = entry.name + (entry.code ? " (" + entry.title + ")" : "");
    if (entry.code) text.append(code(entry.text));
    else text.textContent = entry.title + (entry.text ? ": " + entry.text : "");
    article.append(head, text);
    link.append(article);
    row.append(link);
    return row;
  }

  function show(field) {
    if (!names) return;
    var results = document.querySelector(".md-search-result");
    if (!results) return;
    if (!list || !list.isConnected) {
      list = document.createElement("ol");
      list.className = "md-search-result__list tclab-names";
      results.prepend(list);
    }
    list.replaceChildren.apply(list, best(field.value).map(item));
  }

  function heard(event) {
    var field = event.target;
    if (!field.matches || !field.matches(".md-search__input")) return;
    if (event.type === "focusin") load(field);
    else show(field);
  }

  document.addEventListener("focusin", heard);
  document.addEventListener("input", heard);
})();
