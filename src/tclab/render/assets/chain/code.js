// How code is coloured that is plain text in the page.

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

// Python and C++, which graphs and kernels are: comments, texts, numbers, words of the language.
const readable = (comment, words) => new RegExp([
  `(${comment}.*)`, /("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')/.source, /\b(\d[\w.]*)/.source, `\\b(${words})\\b`,
].join("|"), "g");
const PYTHON = readable("#", "class|def|return|if|elif|else|for|in|is|not|and|or|import|from|with|as|lambda|None|True|False");
const CPP = readable("//", "if|else|for|return|const|auto|static|void|float|double|int64_t|bool|template|using|extern");
const TOKENS = { cpp: CPP };
for (const stage of ["python", "dynamo", "joint", "forward", "backward", "pre_grad", "post_grad", "wrapper", "kernel"]) TOKENS[stage] = PYTHON;
const CLASSES = ["c1", "s", "mi", "k"];
//   "f32[2048, 768][768, 1]cuda:0": what follows the sizes is shown with whole types only
const TYPE = /^("[A-Za-z]\w*\[[^\]"]*\])([^"]+)"$/;

function readablePieces(stage, text) {
  const found = [];
  let end = 0;
  for (const match of text.matchAll(TOKENS[stage])) {
    if (match.index > end) found.push(["", text.slice(end, match.index)]);
    end = match.index + match[0].length;
    const type = TYPE.exec(match[0]);
    if (type) found.push(["s", type[1]], ["tclab-type", type[2]], ["s", '"']);
    else found.push([CLASSES[match.slice(1).findIndex(Boolean)], match[0]]);
  }
  return found.concat([["", text.slice(end)]]);
}

// The pieces of one line: [class, text].
function pieces(stage, text) {
  if (TOKENS[stage]) return readablePieces(stage, text);
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
    const span = document.createElement(name === "tclab-type" ? "i" : "span");
    span.className = name === "k" && HELPED.has(stage) ? "k tclab-op" : name;
    span.textContent = text;
    return span;
  }), "\n");
}
