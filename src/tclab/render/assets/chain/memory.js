// What the reader last chose.

// Storage may be forbidden: in a sandboxed frame, or by the reader.
const memory = {
  get(key) { try { return localStorage.getItem("tclab-" + key) || ""; } catch (_) { return ""; } },
  set(key, value) { try { localStorage.setItem("tclab-" + key, value); } catch (_) { /* so be it */ } },
};

// --- the address

// …?stages=python.kernel.sass#…-sass-L12: the line that is pinned, and the stages that are shown.
const address = {
  anchor() { return location.hash.slice(1); }, // ids are plain letters: nothing to decode

  stages() {
    return (new URLSearchParams(location.search).get("stages") || "").split(".").filter(Boolean);
  },

  with(stages, anchor) {
    const search = new URLSearchParams(location.search);
    if (stages.length) search.set("stages", stages.join("."));
    else search.delete("stages");
    const query = search.toString();
    return location.pathname + (query && "?" + query) + (anchor && "#" + anchor);
  },

  set(stages, anchor) {
    try { history.replaceState(history.state, "", this.with(stages, anchor)); } catch (_) { /* a sandboxed frame */ }
  },
};

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch (_) { // no secure address, or forbidden
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}
