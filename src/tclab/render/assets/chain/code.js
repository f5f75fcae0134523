// How machine code is coloured.

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
