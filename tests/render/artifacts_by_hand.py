"""Build one artifact of each kind by hand; `nasty` puts one text everywhere."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from tclab.model import (
    Annotated,
    Artifact,
    Attempt,
    Break,
    Breaks,
    CachedCall,
    Candidate,
    Candidates,
    Chain,
    Chart,
    CompileTime,
    Config,
    Counts,
    Diff,
    FusionPair,
    FusionPairs,
    Graph,
    Guard,
    Guards,
    Instruction,
    Kernel,
    KernelFacts,
    Level,
    LevelCall,
    Levels,
    LineNote,
    Listing,
    Memory,
    MemoryPhase,
    MemoryRun,
    Moment,
    Node,
    Partition,
    PartitionedValue,
    Phase,
    Problem,
    Provenance,
    Recompile,
    Recompiles,
    Replay,
    Report,
    Resources,
    Run,
    ScheduledNode,
    Snippet,
    SourceLine,
    Steps,
    Symbol,
    Symbols,
    Table,
    Text,
    rows_of_chains,
)

FILE = "snippets/start/relu.py"
SOURCE = "import torch\n\n\ndef f(x, w):\n    y = x @ w\n    y = y + 1\n    return y.relu()\n"
SNIPPET = Snippet("start/relu", Path(FILE), "Relu", "", SOURCE)


def line(number: int) -> SourceLine:
    return SourceLine(FILE, number, SOURCE.split("\n")[number - 1].strip(), "f")


def node(name: str, target: str, *inputs: str, at: int = 0, op: str = "call_function") -> Node:
    source = line(at) if at else None
    return Node(name, op, target, ", ".join(inputs), inputs, ("8", "s77"), "f32", "cpu", source)


NODES = (
    node("x", "x", op="placeholder"),
    node("w", "w", op="placeholder"),
    node("mm", "aten.mm.default", "x", "w", at=5),
    replace(node("add", "aten.add.Tensor", "mm", at=6), keys=("fx:forward:add",)),
    node("relu", "aten.relu.default", "add", at=7),
    replace(node("output", "output", "relu", "mm", op="output"), shape=None, dtype=""),
)
GRAPH_CODE = "def forward(self, x, w):\n    mm = x @ w\n    add = mm + 1\n    return (add, mm)\n"
GRAPH = Graph(
    "Forward graph", "forward", "forward", GRAPH_CODE, NODES, "0/0", {3: ("fx:forward:add",)}
)
BREAK = Break(
    "call to `print`", "GB0059", "Failed to trace builtin operator", "Dynamo cannot trace `print`.",
    ("Do not print.", "Or set `reorderable_logging_functions`."), line(6), (line(5), line(6)),
)  # fmt: skip
SKIPPED = Break("torch.jit was called", "", "", "", (), line(7), (), skipped=True)
BREAKS = Breaks("Graph breaks", "breaks", (BREAK, SKIPPED), 2)
NO_BREAKS = Breaks("No breaks", "no-breaks", (), 1)
GUARDS = Guards(
    "Guards of f", "guards",
    (Guard("TENSOR_MATCH", "L['x']", ("check_tensor(L['x'], size=[8, 16])",), line(5)),
     Guard("ID_MATCH", "G['torch']", ("___check_obj_id(G['torch'], 139)", "x is y")),
     Guard("ID_MATCH", "G['a']", ())),
    "0/0", "f", "TREE_GUARD_MANAGER:\n+- RootGuardManager\n",
)  # fmt: skip
RECOMPILES = Recompiles(
    "Recompiles", "recompiles", (Recompile("0/1", "f", ("expected 8, actual 9",), line(4)),)
)
SYMBOLS = Symbols("Symbols", "symbols", (Symbol("s77", "8", "L['x'].size()[0]", "", line(4)),))
LISTING = Listing("Bytecode", "bytecode", "  5  LOAD_FAST  0\n  6  RETURN\n", "text", "bytecode")
KERNEL = Kernel(
    "Triton kernel", "kernel", "@triton.jit\ndef k(p):\n    t = tl.load(p)\n", "python", "kernel",
    links={3: ("fx:forward:add", "py:a b:6")}, kernel_name="k", category="pointwise",
    device="cuda:0", origins=("aten.add", "aten.relu"), source_lines=(line(6), line(7)),
    facts=KernelFacts(written={"grid": "(1,)", "num_warps": "4"}),
)  # fmt: skip
LONG = Kernel(
    "C++ kernel", "long", "".join(f"auto tmp{i} = in[{i}];\n" for i in range(60)), "cpp", "cpp"
)
TTIR = Listing(
    "TTIR", "ttir", 'module {\n  %0 = tt.load %p : f32 loc("x":1:2)\n}\n', "mlir", "ttir"
)
SASS = Listing("SASS", "sass", "\t/*0010*/  @!P0 LDG.E R4, [R2.64+0x10] ;\n", "sass", "sass")
TABLE = Table(
    "Times", "times", ("batch", "mode", "time", "ok"),
    ((1, "eager", 0.25, True), (4096, "compiled", 0.0571, False), (8, None, None, None)),
    ("", "", "ms", ""), ("", "", ".2f", ""), "Median of 100 calls.",
)  # fmt: skip
CHART = Chart(
    "Speed-up", "speed-up", (1, 8, 64), {"compiled": (0.5, 1.0, 2.0), "graphs": (3.0, None, 2.5)},
    "batch", "eager ÷ this", log_x=True, caption="Higher is better.",
)  # fmt: skip
BARS = Chart("Seconds", "bars", ("dynamo", "inductor"), {"cold": (1, 8)}, "", "s", style="bar")
SPANS = Chart(
    "Timeline", "spans", ("all", "part"), {"begin": (0, 1.5), "length": (4, 2)}, "phase", "seconds",
    style="span",
)  # fmt: skip
TEXT = Text("Log", "log", "one\ntwo\n")
CHAIN = Chain(
    "From Python to Triton", "chain",
    (
        Listing("f", "python-f", "y = x + 1\nz = y\n", "python", "python", FILE, 5,
                marks={1: ("py:5",)}),
        replace(LISTING, links={2: ("py:5",)}, marks={2: ("fx:add",)}),
        replace(KERNEL, links={3: ("fx:add",)}, marks={3: ("k:3",)}),
        replace(SASS, links={1: ("k:3",)}),
    ), "0/0",
)  # fmt: skip
ANNOTATED = Annotated(
    "f in x.py", "f", "def f(x):\n    y = x + 1\n    print(y)\n    return y\n", "python", "python",
    FILE, 5, compiled={2: ("0",), 4: ("1", "2")},
    notes=(LineNote(7, "graph break", "call to `print`", "Do not print."),
           LineNote(6, "specialised", "x is fixed to size 8 × 16")),
)  # fmt: skip

CANDIDATES = Candidates(
    "Candidates", "candidates",
    (Candidate("k", "pointwise {'x': 8}", Config((("XBLOCK", 8),), 4, 1), Resources(16, 0, 0)),
     Candidate("k", "pointwise {'x': 8}", Config((("XBLOCK", 4),), 2, 1), problem="too much")),
)  # fmt: skip
OTHER = replace(KERNEL, code=KERNEL.code.replace("+", "-"), facts=KernelFacts())
DIFF = Diff(
    "For two GPUs", "diff", ("H200", "A100"), CHAIN.panes,
    (*CHAIN.panes[:2], OTHER, TTIR),
)  # fmt: skip

MADE = Provenance(
    "2.13.0+cpu", "cf30153" + "0" * 33, "3.11.2", "EPYC", "Linux", "2026-11-20", "3.7.1", cores=2
)
SHOWN = replace(ANNOTATED, code=SOURCE, first_line=1)
TOOK = CompileTime((Phase("Dynamo", 1, 0.25), Phase("Inductor", 2, 1.5)), 1)
REPORT = Report(
    "f", "report", ("f32[8]", ""), "NVIDIA H200", remarks=("Made by f().",),
    refusal=Problem("mm, x.py:5", "not known", "use other sizes"), fault="no links",
    counts=Counts(recompiles=1, all_graphs=2),
    kernels=rows_of_chains([CHAIN]), candidates=CANDIDATES, sources=(SHOWN,), breaks=BREAKS,
    recompiles=RECOMPILES, symbols=SYMBOLS, guards=(GUARDS,), chains=(CHAIN, CHAIN),
    compile_time=TOOK, provenance=MADE, warnings=("torch/x.py:1: UserWarning: no",),
)  # fmt: skip

REPLAY = Replay(
    "Call by call", "replay",
    (CachedCall("x[8]", (), "0/0"),
     CachedCall("x[16]", (Attempt("0/0", "size mismatch: expected 8, actual 16"),), "0/1"),
     CachedCall("x[8]", (Attempt("0/1", "not 8"), Attempt("0/0"))),
     CachedCall("x[1]", (Attempt("0/0", "expected 8"),))),
)  # fmt: skip
PARTITION = Partition(
    "What is kept", "partition",
    (PartitionedValue("w", "", "input", 4096, 0, "", ("8",), "f32"),
     PartitionedValue("mm", "aten.mm", "saved", 2048, 1, "not in recomputable allowlist", ("8",),
                      "f32", line(5)),
     PartitionedValue("t", "aten.t", "saved", 4096, 0),
     PartitionedValue("add", "aten.add", "recomputed", 2048, 2, location=line(6)),
     PartitionedValue("relu", "aten.relu", "forward only", 2048, 3, location=line(7))),
    "0/0",
)  # fmt: skip
HELD = (MemoryPhase("forward", (Moment(4096, "aten::mm"), Moment(6144, "aten::add"))),
        MemoryPhase("backward", (Moment(2048, "MmBackward0"), Moment(0))))  # fmt: skip
LESS = (MemoryPhase("forward", (Moment(4096, "compiled graph"),)), MemoryPhase("backward"))
MEMORY = Memory(
    "Memory held", "memory", (MemoryRun("eager", HELD), MemoryRun("compiled", LESS)), "Of f."
)
STEPS = Steps(
    "Dynamo", "steps",
    (Instruction("LOAD_FAST", "x", (), (), line(5)),
     Instruction("BINARY_OP", "@", ("TensorVariable()", "Lazy(w)"), ("mm",), line(5)),
     Instruction("RETURN_VALUE", "", ("TensorVariable()",))),
)  # fmt: skip
FUSIONS = FusionPairs(
    "Why fused, why not", "fusion-pairs",
    (ScheduledNode("op0", ("amax",), (line(5),)), ScheduledNode("op1", ("exp", "sub"), (line(6),)),
     ScheduledNode("op2", ("sum_1",)), ScheduledNode("op3", ("mm",), (line(7),))),
    (FusionPair(("op0",), ("op1",), "fused", shared={"buf0": 4096}, before=12288, after=4096),
     FusionPair(("op1",), ("op2",), "refused", "intermediate nodes", shared={"buf1": 2048}),
     FusionPair(("op0",), ("op2",), "refused", "no shared data"),
     FusionPair(("op1",), ("op3",), "refused", "no shared data"),
     FusionPair(("op2",), ("op3",), "refused", "", "CppScheduling.can_fuse", {"buf2": 1024}),
     FusionPair(("op0", "op1"), ("op3",), "possible", shared={"buf0": 4096}, round=2)),
    (("op0", "op1", "op2"), ("op3",)), "0/0",
)  # fmt: skip
LEVELS = Levels(
    "Level by level", "levels",
    (Level("ATen", (LevelCall("mm", "aten.mm", "", ("8",), "float32", line(5)),
                    LevelCall("silu", "aten.silu", "", ("8",), "float32", line(6)),
                    LevelCall("alias", "aten.alias"))),
     Level("Core ATen", (LevelCall("mm", "aten.mm", "mm"),
                         LevelCall("sigmoid", "aten.sigmoid", "silu"),
                         LevelCall("mul", "aten.mul.Tensor", "silu"))),
     Level("Prims", (LevelCall("mm", "aten.mm", "mm"), LevelCall("mul", "prims.mul", "mul")))),
)  # fmt: skip

ARTIFACTS: tuple[Artifact, ...] = (
    GRAPH, BREAKS, NO_BREAKS, GUARDS, RECOMPILES, SYMBOLS, LISTING, KERNEL, LONG, TTIR, SASS,
    TABLE, CHART, BARS, SPANS, TEXT, CHAIN, DIFF, REPORT, ANNOTATED, REPLAY, PARTITION, MEMORY,
    STEPS, FUSIONS, LEVELS, CANDIDATES,
)  # fmt: skip

RUN = Run("start/relu", "here", "s", MADE, 0.71, 1 << 28, ARTIFACTS, "printed\n")


def nasty(value: Any, text: str) -> Any:
    """Return `value` with `text` in place of each text in it; ids, ops and numbers stay."""
    if isinstance(value, str):
        return text
    if isinstance(value, tuple):
        return tuple(nasty(v, text) for v in value)
    if isinstance(value, dict):
        return {
            k if isinstance(k, int) else f"{text}{i}": nasty(v, text)
            for i, (k, v) in enumerate(value.items())
        }
    if is_dataclass(value) and not isinstance(value, type):
        kept = {
            "op",
            "style",
            "fate",
            "formats",
            "language",
            "name",
            "date" if value.kind == "provenance" else "",  # any other text is refused
            "x" if value.kind == "chart" else "",
        }
        changed = {
            f.name: nasty(getattr(value, f.name), text)
            for f in fields(value)
            if f.name not in kept or (f.name == "name" and value.kind == "node")
        }
        return replace(value, **changed)
    return value
