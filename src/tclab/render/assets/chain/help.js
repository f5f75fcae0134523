// What an instruction does.

const HELPED = new Set(["ptx", "sass"]);

// What is known of an opcode such as LDG.E.128: of its name, then of each of its modifiers.
function explain(known, opcode) {
  const [name, ...modifiers] = opcode.split(".");
  if (!known || !known[name]) return "";
  const texts = modifiers.map((m) => [m, known[name + "." + m] || known["." + m]]);
  return [known[name], ...texts.filter(([, text]) => text).map(([m, text]) => "." + m + ": " + text)].join(" ");
}

// A link to the entry of an instruction in the site's reference; none in a report that stands alone.
function entryLink(stage, known, opcode) {
  const config = document.getElementById("__config");
  const name = opcode.split(".")[0];
  if (!config || !known || !known[name]) return null;
  const link = document.createElement("a");
  link.href = `${JSON.parse(config.textContent).base}/reference/instructions.html#${stage}-${name}`;
  link.textContent = `${name} in the reference`;
  return link;
}

// One small box with the help for what the pointer is on. One with a link stands above its
// instruction and lets the pointer in; it comes a moment later, so that a pointer on its way up
// does not run into it.
class Tip {
  constructor(chain) {
    this.chain = chain;
    this.box = document.createElement("div");
    this.box.className = "tclab-tip";
    this.box.setAttribute("role", "tooltip");
    this.box.hidden = true;
    chain.root.append(this.box);
    chain.root.addEventListener("pointerover", (event) => this.point(event));
    chain.root.addEventListener("pointerleave", () => this.hide());
  }

  point(event) {
    if (!isPointing(event)) return;
    const of = event.target.closest(".tclab-op, .tclab-type");
    if (!of) this.hide();
    else if (of.matches(".tclab-op")) this.help(of);
    else this.show(of, this.chain.switches.all ? "" : of.parentElement.textContent);
  }

  help(opcode) {
    const { stage } = this.chain.pane(this.chain.line(opcode));
    const known = this.chain.data.help[stage];
    this.show(opcode, explain(known, opcode.textContent), entryLink(stage, known, opcode.textContent));
  }

  show(element, text, link) {
    if (!text) { this.hide(); return; }
    this.box.replaceChildren(text);
    this.box.classList.toggle("tclab-entered", Boolean(link));
    if (link) this.box.append(" ", link);
    this.box.hidden = false;
    this.place(element.getBoundingClientRect(), this.box.getBoundingClientRect(), Boolean(link));
  }

  // Nothing is between a box with a link and its instruction: the pointer would lose it there.
  place(at, own, above) {
    const gap = above ? 0 : 4;
    const isBelow = at.bottom + gap + own.height < innerHeight && !(above && at.top > own.height);
    this.box.style.top = (isBelow ? at.bottom + gap : at.top - own.height - gap) + "px";
    this.box.style.left = Math.max(4, Math.min(at.left, innerWidth - own.width - 8)) + "px";
  }

  hide() { this.box.hidden = true; }
}

// A finger points at nothing; a pointer in the tip's box stays where it was.
function isPointing(event) {
  return event.pointerType !== "touch" && !event.target.closest(".tclab-tip");
}

// The sentence below the code: where the pinned line is, how many lines it is linked to, what its
// instruction does.
class Status {
  constructor(chain) {
    this.chain = chain;
    this.element = chain.root.querySelector(".tclab-said");
    const help = this.element.textContent;
    chain.on("pinned", (line) => this.describe(line));
    chain.on("unpinned", () => { this.element.textContent = help; });
  }

  describe(line) {
    const { chain } = this;
    const pane = chain.pane(line);
    const counts = chain.stages.reached().join(", ");
    const linked = chain.index.linked(line) ? "Linked lines: " + counts : "No link is known";
    const known = chain.data.help[pane.stage];
    const opcode = this.opcode(pane, line);
    const text = explain(known, opcode);
    this.element.textContent = `${pane.name}, line ${pane.number(line)}. ${linked}.${text && " " + text}`;
    const entry = text && entryLink(pane.stage, known, opcode);
    if (entry) this.element.append(" ", entry);
  }

  // The instruction of a line, where it is one that there may be help for.
  opcode(pane, line) {
    if (!pane.elements || !HELPED.has(pane.stage)) return "";
    const text = pane.texts()[line - pane.start].trimEnd();
    return (pieces(pane.stage, text).find(([name]) => name === "k") || ["", ""])[1];
  }
}
