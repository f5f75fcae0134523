// Names in the site's search.

// Operators, settings, logs, breaks, instructions, kernels. They are a file of their own, asked for
// when somebody searches. What was asked for by name stands above the results of the prose, what only
// has its words below.
const MOST = 4;
const BY_NAME = 700; // how well a name fits that is in the query, or whose message is

// As an entry's id is made.
const anchor = (name) => name.replace(/[^A-Za-z0-9_-]+/g, "-").replace(/^-+|-+$/g, "");

const wordsOf = (text) => text.toLowerCase().match(/[a-z_]\w{2,}/g) || [];

class Name {
  constructor(group, [name, text, url]) {
    this.name = name;
    this.low = name.toLowerCase();
    this.text = text;
    this.title = group.title;
    this.full = group.title.toLowerCase() + "." + this.low;
    this.url = url || group.url + "#" + group.prefix + anchor(name);
    this.exact = Boolean(group.exact);
    this.code = Boolean(group.code);
  }

  get words() {
    this.known = this.known || new Set(wordsOf(this.name + " " + this.text));
    return this.known;
  }

  // How well it fits: its name, or most words of its message. 0: not at all.
  fit(query) {
    if (this.code && this.low === query.whole) return 860; // below what is named so and explained
    if (this.exact) return query.pieces.some((piece) => isLast(piece, this.low)) ? 850 : 0;
    if (this.low === query.whole || this.full === query.whole) return 1000;
    if (query.isName && this.words.has(query.whole)) return 750 - this.words.size / 100; // in its text
    const message = query.words.length >= 2 && !this.code ? this.message(query) : 0;
    if (query.pieces.includes(this.low)) return Math.max(message, 900);
    if (query.pieces.some((piece) => isLast(this.full, piece))) return Math.max(message, 800 - this.low.length);
    if (query.single && query.whole.length > 2) {
      const at = this.low.indexOf(query.whole);
      if (at >= 0) return (at ? 400 : 600) - this.low.length;
    }
    return message;
  }

  // All words of a sentence say more than one name in it.
  message(query) {
    const share = query.words.filter((word) => this.words.has(word)).length / query.words.length;
    if (share < 0.75) return 0;
    return (share === 1 && query.isMessage ? 950 : 200 * share) - this.words.size / 100;
  }
}

function isLast(path, name) { return path === name || path.endsWith("." + name); }

function read(text) {
  const plain = text.trim().replace(/^torch\.ops\.|\.default$/g, "");
  const pieces = plain.match(/[\w.]*\w/g) || [];
  const single = pieces.length === 1;
  // In a sentence only what cannot be a plain word is a name.
  const named = pieces.filter((piece) => single || /\w_\w|^_|\d|[a-z][A-Z]|\w\.\w+\.\w/.test(piece));
  const rest = plain.split(/\s+/).filter((word) => !/\w\.\w/.test(word)).join(" ");
  const words = new Set(wordsOf(rest).filter((word) => !FILLING.has(word)));
  return {
    whole: plain.toLowerCase(), single, words: [...words], isName: single && plain.includes("_"),
    isMessage: words.size > 2 && (words.size > 3 || /[`'":=(){}[\]]|\w[._]\w/.test(plain)),
    pieces: named.map((piece) => piece.toLowerCase()),
  };
}

function best(names, text) {
  const query = read(text);
  if (!query.whole) return [];
  return names.map((name) => [name.fit(query), name])
    .filter(([fit]) => fit > 0)
    .sort(([a, one], [b, other]) => b - a || (one.low < other.low ? -1 : 1))
    .slice(0, MOST);
}

// The results, below Material's field.
class NameSearch {
  constructor() {
    document.addEventListener("focusin", ({ target }) => { if (isField(target)) this.load(target); });
    document.addEventListener("input", ({ target }) => { if (isField(target)) this.show(target); });
  }

  // A script, not a request: it works over file://, too.
  load(field) {
    if (this.script) return;
    this.script = document.createElement("script");
    this.script.src = siteRoot() + "/search/names.js";
    this.script.onload = async () => {
      window.tclabNames = await unpacked(window.tclabPackedNames);
      this.names = window.tclabNames
        .flatMap((group) => group.entries.map((entry) => new Name(group, entry)));
      this.show(field);
    };
    document.head.append(this.script);
  }

  show(field) {
    const results = document.querySelector(".md-search-result");
    if (!this.names || !results) return;
    if (!this.above || !this.above.isConnected) {
      this.above = element("ol", "md-search-result__list tclab-names");
      this.below = this.above.cloneNode();
      results.prepend(this.above);
      results.append(this.below);
    }
    const found = best(this.names, field.value);
    const items = (isWanted) => found.filter(([fit]) => isWanted(fit)).map(([, name]) => item(name));
    this.above.replaceChildren(...items((fit) => fit > BY_NAME));
    this.below.replaceChildren(...items((fit) => fit <= BY_NAME));
    // Material counts its own results: beside these it would say that nothing matches.
    results.querySelector(".md-search-result__meta").hidden = found.length > 0;
  }
}

function isField(element) { return element.matches && element.matches(".md-search__input"); }

function siteRoot() { return JSON.parse(document.getElementById("__config").textContent).base; }

function element(name, className, ...children) {
  const node = document.createElement(name);
  if (className) node.className = className;
  node.append(...children);
  return node;
}

function item(name) {
  const head = element("h2", "", name.name + (name.code ? ` (${name.title})` : ""));
  const plain = name.title + (name.text ? ": " + name.text : "");
  const text = element("p", "", name.code ? element("code", "", name.text) : plain);
  const article = element("article", "md-search-result__article md-typeset", head, text);
  const link = element("a", "md-search-result__link", article);
  link.href = new URL(siteRoot() + "/" + name.url, location.href).href;
  return element("li", "md-search-result__item", link);
}

new NameSearch();
