// Code that comes on demand.

// Code that is not in the page's text: a file of it calls tclabCode with all of one stage, packed. A
// script, not a request for data, so that it also works over file://.
const delivered = new Map();
const awaited = new Map();
window.tclabCode = (name, text) => { delivered.set(name, text); };

// A page that stands alone has it in an element.
const inPage = (id) => unpacked(document.getElementById(id).textContent);

function codeAway(name, address) {
  if (!awaited.has(name)) {
    awaited.set(name, address[0] === "#" ? inPage(name) : new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = address;
      script.onload = () => resolve(unpacked(delivered.get(name)));
      script.onerror = () => { awaited.delete(name); script.remove(); reject(); };
      document.head.append(script);
    }));
  }
  return awaited.get(name);
}

// Has the text of open panes brought once the chain is near the window.
class Loader {
  constructor(chain) {
    this.chain = chain;
    this.isNear = false;
    chain.root.addEventListener("toggle", (event) => this.toggled(event), true);
  }

  begin() {
    const { root } = this.chain;
    if (!window.IntersectionObserver) { this.bring(true); return; }
    const observer = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();
      this.bring(true);
    }, { rootMargin: "50%" });
    observer.observe(root);
  }

  // Resolves when every pane that is shown has its lines, to whether any was without.
  async bring(isNear = this.isNear) {
    this.isNear = isNear;
    const missing = this.chain.panes.filter((pane) => pane.shown && !pane.elements);
    if (!isNear || !missing.length) return false;
    await Promise.all(missing.map((pane) => pane.load()));
    this.chain.view.rest();
    this.chain.emit("moved");
    return true;
  }

  async toggled(event) {
    const { chain } = this;
    const pane = chain.panes.find((p) => p.element === event.target);
    const isWanted = pane && pane.element.open && !pane.elements && (!pane.away || pane.shown);
    if (isWanted) await pane.load();
    const { pinned } = chain.selection;
    if (isWanted && pinned >= 0 && pane.lit.length) chain.view.scroll(chain.pane(pinned));
    else chain.emit("moved");
  }
}
