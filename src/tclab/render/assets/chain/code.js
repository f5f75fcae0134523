// --------------------------------------------------------------- how machine code is coloured

// Of each stage, the parts of a line and their classes (Pygments' own names). The opcode is "k".
const PARTS = {
  //   /*0110*/  @!P4 LDG.E.128 R4, desc[UR4][R14.64] ;
  sass: [/^(\s*\/\*[0-9a-f]+\*\/)(\s+(?:@!?\w+\s+)?)([A-Z][\w.]*)(.*)$/, "cm", "", "k", ""],
  //   @%p1 ld.global.v4.b32 { %r1, %r2, %r3, %r4 }, [ %rd1 + 0 ];
  ptx: [/^(\s*\{?\s*(?:@!?%\w+\s+)?)([a-z]\w*(?:[.:]+\w+)*)(\s[^/]*)?(;.*)$/, "", "k", "", ""],
  //   %6 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x(), !dbg !12
  llir: [/^(\s+(?:%\S+ = )?)((?:tail )?[a-z]\w*)(.*?)(, !dbg !\d+)?$/, "", "k", "", "c1"],
  //   %xoffset = tt.get_program_id x : i32 loc(#loc55)
  ttir: [/^(\s*(?:%[^=]*= )?)("?[a-z_]\w*\.[\w.]+"?)(.*?)(\s*loc\([^()]*\))?$/, "", "k", "", "c1"],
  //   b:  push   QWORD PTR [r13-0x8]
  asm: [/^(\s*[0-9a-f]+:\s+)([a-z]\w*)(.*)$/, "cm", "k", ""],
};
PARTS.ttgir = PARTS.ttir;
const COMMENT = /^\s*(\/\/|;|#loc|!)/;

// The pieces of one line: [class, text].
function pieces(stage, text) {
  if (COMMENT.test(text)) return [["c1", text]];
  const [pattern, ...classes] = PARTS[stage] || [];
  const match = pattern && pattern.exec(text);
  return match ? classes.map((name, i) => [name, match[i + 1] || ""]) : [["", text]];
}

// Gives a line of plain text its colours.
function colour(element, stage) {
  const parts = pieces(stage, element.textContent.slice(0, -1)).filter(([, text]) => text);
  if (parts.length === 1 && !parts[0][0]) return;
  element.replaceChildren(...parts.map(([name, text]) => {
    if (!name) return text;
    const span = document.createElement("span");
    span.className = name === "k" && HELPED.has(stage) ? "k tclab-op" : name;
    span.textContent = text;
    return span;
  }), "\n");
}

// ------------------------------------------------------------------- what an instruction does

const HELPED = new Set(["ptx", "sass"]);

// What is known of an opcode such as LDG.E.128: of its name, then of each of its modifiers.
function explain(known, opcode) {
  const [name, ...modifiers] = opcode.split(".");
  if (!known || !known[name]) return "";
  const said = modifiers.map((m) => [m, known[name + "." + m] || known["." + m]]);
  return [known[name], ...said.filter(([, text]) => text).map(([m, text]) => "." + m + ": " + text)].join(" ");
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

// One small box for all that is told on hover. One with a link stands above what it tells of and lets
// the pointer in; it comes a moment later, so that a pointer on its way up does not run into it.
class Tip {
  constructor(root) {
    this.box = document.createElement("div");
    this.box.className = "tclab-tip";
    this.box.setAttribute("role", "tooltip");
    this.box.hidden = true;
    root.append(this.box);
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
