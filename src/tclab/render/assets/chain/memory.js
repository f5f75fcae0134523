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

  set(stages, anchor, isStep) {
    const to = this.with(stages, anchor);
    const isNew = to !== location.pathname + location.search + location.hash;
    const change = isStep && isNew ? "pushState" : "replaceState";
    try { history[change](history.state, "", to); } catch (_) { /* a sandboxed frame */ }
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

// A word on a button, for a moment.
function say(button, word) {
  button.dataset.said = word;
  setTimeout(() => delete button.dataset.said, 2000);
}

function copier(name) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "tclab-copier";
  button.dataset.do = "take";
  button.title = "Copy " + name;
  button.setAttribute("aria-label", button.title);
  return button;
}

// The text of panes to the clipboard, hidden lines, too.
async function take(button, panes) {
  await Promise.all(panes.map((pane) => pane.load()));
  const text = panes.map((pane) => pane.texts().join("")).join("\n");
  say(button, await copied(text) ? "copied" : "no clipboard");
}
