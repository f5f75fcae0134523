"""Define the artifacts that a run can show, as frozen dataclasses. The lines of listings have
links, and the nodes of graphs have keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from tclab.model.codec import kind
from tclab.model.kernels import KernelFacts

# --------------------------------------------------------------------------- places


@kind("source-line")
@dataclass(frozen=True)
class SourceLine:
    """One line of Python. `file` is relative to the project or starts with a package name."""

    kind: ClassVar[str]
    file: str
    line: int
    code: str = ""
    function: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


# --------------------------------------------------------------------------- artifacts


@dataclass(frozen=True)
class Artifact:
    """One typed thing that a run showed. `name` is a slug, unique in the run; pages use it as
    key.
    """

    kind: ClassVar[str]
    title: str = ""
    name: str = ""


def normalise_line_keys(artifact: Artifact) -> None:
    """Convert line numbers in `links` and `marks` from text to int, and lists of keys to tuples,
    because JSON has neither int keys nor tuples.
    """
    for name in ("links", "marks"):
        keys_of = getattr(artifact, name)
        normal = {int(line): tuple(keys) for line, keys in keys_of.items()}
        object.__setattr__(artifact, name, normal)


@kind("text")
@dataclass(frozen=True)
class Text(Artifact):
    """Plain text, shown verbatim."""

    text: str = ""


@kind("listing")
@dataclass(frozen=True)
class Listing(Artifact):
    """Code in some language, each line with the keys of its origins.

    `stage` is one of STAGES. Both `marks` and `links` map a line number (from 1, within
    `code`) to keys such as ``py:snippets/x.py:12`` or ``fx:forward:0:add_1``. `marks` are the
    line's own keys; `links` are the keys of its origins. The origins of a line are all lines,
    in any listing, that are marked with a key it links to. A line without links has no known
    origin.
    """

    code: str = ""
    language: str = "text"  # a Pygments lexer's name
    stage: str = ""
    filename: str = ""
    first_line: int = 1
    links: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    marks: Mapping[int, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        normalise_line_keys(self)


@kind("line-note")
@dataclass(frozen=True)
class LineNote:
    """A note on what the compiler did at one line. `label` is one of LABELS; `line` is the line
    number in the file.
    """

    kind: ClassVar[str]
    line: int
    label: str
    text: str
    detail: str = ""  # advice, or a further fact


#: The labels of notes. They mean, in this order: the graph ends at this line; the frame is not
#: compiled; a value or size is fixed in the compiled code; a size or number became a symbol; the
#: code was compiled again.
LABELS = ("graph break", "skipped", "specialised", "dynamic", "recompile")


@kind("annotated")
@dataclass(frozen=True)
class Annotated(Listing):
    """Python source with notes on what the compiler did.

    `compiled` maps a line number (from 1, within `code`) to the numbers of the graphs that contain
    the line.
    """

    notes: tuple[LineNote, ...] = ()
    compiled: Mapping[int, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        normal = {int(line): tuple(graphs) for line, graphs in self.compiled.items()}
        object.__setattr__(self, "compiled", normal)


@kind("kernel")
@dataclass(frozen=True)
class Kernel(Listing):
    """One generated kernel or library call. `language` is ``python`` (Triton) or ``cpp``.

    `kernel_name` is the name in the generated code; `category` is pointwise, reduction,
    persistent_reduction, template, …, or ``extern`` for a library call; `direction` is forward,
    backward or inference; `origins` are the ATen nodes fused into it; `source_lines` are the
    user's lines; `facts` holds everything else.
    """

    kernel_name: str = ""
    category: str = ""
    device: str = ""
    origins: tuple[str, ...] = ()
    source_lines: tuple[SourceLine, ...] = ()
    facts: KernelFacts = field(default_factory=KernelFacts)
    direction: str = ""


@kind("table")
@dataclass(frozen=True)
class Table(Artifact):
    """Rows of cells. A cell is text, a number or None (shown as a dash).

    `units` and `formats` have one text for each column; a format is a `format()` spec such as
    ``.2f``.
    """

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str | int | float | bool | None, ...], ...] = ()
    units: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    caption: str = ""

    def __post_init__(self) -> None:
        for name in ("columns", "units", "formats"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "rows", tuple(tuple(row) for row in self.rows))
        width = len(self.columns)
        for number, row in enumerate(self.rows, 1):
            if len(row) != width:
                raise ValueError(
                    f"Table {self.title!r}: row {number} has {len(row)} cells, not {width}"
                )


@kind("chart")
@dataclass(frozen=True)
class Chart(Artifact):
    """A chart: `series` maps a label to y values, one for each entry of `x` (None: no point).

    A chart of the style ``span`` draws one span for each `x`, in a row of its own. Its two series
    hold the beginnings and the lengths of the spans, and `y_label` names the axis of both. The
    style ``lanes`` puts spans with the same `x` into one row.

    With the style ``line``, `names` holds a name for the points of each `x`, and `links` holds a
    page of the site that opens at a click: ``explorer/softmax.md``, ``explorer/roof.md#gather``.
    Both may be empty.
    """

    x: tuple[str | float, ...] = ()
    series: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)
    x_label: str = ""
    y_label: str = ""
    style: str = "line"  # line, bar, span or lanes
    log_x: bool = False
    log_y: bool = False
    caption: str = ""
    names: tuple[str, ...] = ()
    links: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("x", "names", "links"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        series = {str(label): tuple(ys) for label, ys in self.series.items()}
        object.__setattr__(self, "series", series)
        if self.is_timeline and len(series) != 2:
            raise ValueError(f"Chart {self.title!r}: spans are two series, not {len(series)}")
        for label, ys in series.items():
            if len(ys) != len(self.x):
                raise ValueError(
                    f"Chart {self.title!r}: {label!r} has {len(ys)} points, not {len(self.x)}"
                )
        for name in ("names", "links"):
            given = len(getattr(self, name))
            if given not in (0, len(self.x)):
                raise ValueError(f"Chart {self.title!r}: {given} {name}, not {len(self.x)}")

    @property
    def is_timeline(self) -> bool:
        """Whether the chart shows spans, so that its two series hold the beginnings and the lengths
        of the spans.
        """
        return self.style in ("span", "lanes")


@kind("chain")
@dataclass(frozen=True)
class Chain(Artifact):
    """All stages of one graph, as listings whose lines are linked by keys.

    `panes` go from the Python source down to machine code, in the order of STAGES; each has
    its `stage`. A key in `links` must be a mark in some pane.

    `runs` counts the runs of the graph in the first call: 0 if a later call compiled it, 1 if runs
    were not counted. `boundary` counts the bytes of the graph's inputs and outputs, each tensor
    once; None if not known. `several_sizes` says that these runs had inputs of several sizes.
    """

    panes: tuple[Listing, ...] = ()
    compile_id: str = ""
    runs: int = 1
    boundary: int | None = None
    several_sizes: bool = False


@kind("diff")
@dataclass(frozen=True)
class Diff(Artifact):
    """Two versions of the same code side by side: for two targets, from two PyTorch versions, or
    before and after an edit.

    `left` and `right` are listings in order, such as the panes of two chains. Within each stage,
    the nth listing of one side is compared with the nth of the other. `labels` name the sides.
    """

    labels: tuple[str, str] = ("before", "after")
    left: tuple[Listing, ...] = ()
    right: tuple[Listing, ...] = ()


#: The stages to which a listing or a graph can belong, in the order of a compile.
STAGES = (
    *("python", "bytecode", "dynamo", "joint", "forward", "backward", "pre_grad", "post_grad"),
    *("ir_pre_fusion", "ir", "wrapper", "kernel", "cpp", "asm"),
    *("ttir", "ttgir", "llir", "ptx", "sass", "amdgcn"),
)
