"""What a run can show: typed artifacts, as frozen dataclasses. Lines carry links, nodes keys."""

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
    """One typed thing a run showed. `name` is its key on pages: unique in a run, a slug."""

    kind: ClassVar[str]
    title: str = ""
    name: str = ""


def number_lines(artifact: Artifact) -> None:
    """Line numbers of links and marks as numbers, keys as tuples; JSON has neither."""
    for name in ("links", "marks"):
        keys_of = getattr(artifact, name)
        normal = {int(line): tuple(keys) for line, keys in keys_of.items()}
        object.__setattr__(artifact, name, normal)


@kind("text")
@dataclass(frozen=True)
class Text(Artifact):
    """Plain text; shown verbatim."""

    text: str = ""


@kind("listing")
@dataclass(frozen=True)
class Listing(Artifact):
    """Code in some language, with the keys of what each line came from.

    `stage` is one of STAGES. Both `marks` and `links` map a line number (from 1, within
    `code`) to keys such as ``py:snippets/x.py:12`` or ``fx:forward:0:add_1``. `marks` are
    the keys a line stands for, `links` those of what it came from: a line is made from
    every line, of any listing, that is marked with a key it links to. A line without
    links has no known origin.
    """

    code: str = ""
    language: str = "text"  # a Pygments lexer name
    stage: str = ""
    filename: str = ""
    first_line: int = 1
    links: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    marks: Mapping[int, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        number_lines(self)


@kind("line-note")
@dataclass(frozen=True)
class LineNote:
    """What the compiler did at one line. `label` is one of LABELS; `line` counts in the file."""

    kind: ClassVar[str]
    line: int
    label: str
    text: str
    detail: str = ""  # what to do, or what else is known


#: What a note can say: the graph ends here; the frame is not compiled; a value or size is
#: fixed in the compiled code; a size or number became a symbol; it was compiled again.
LABELS = ("graph break", "skipped", "specialised", "dynamic", "recompile")


@kind("annotated")
@dataclass(frozen=True)
class Annotated(Listing):
    """Python source with what the compiler did at each line.

    `compiled` maps a line (from 1, within `code`) to the graphs that hold it, by their number.
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
    """One generated kernel, or call into a library. `language` is ``python`` (Triton) or ``cpp``.

    `kernel_name` is the name in the generated code; `category` is pointwise, reduction,
    persistent_reduction, template, …, or ``extern`` for a library call; `direction` is forward,
    backward or inference; `origins` are the ATen nodes fused into it; `source_lines` the user's
    lines; `facts` what else is known.
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

    `units` and `formats` go column by column; a format is a `format()` spec such as ``.2f``.
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

    Of the style ``span`` there are two series: for each entry of `x` where it begins, and how
    long it is. The spans stand one under the other, along an axis that `y_label` names. Of the
    style ``lanes`` those whose `x` is the same stand in one row.

    Of the style ``line``, `names` says what the points of each `x` are, and `links` which place of
    the site opens them: ``explorer/softmax.md``, ``explorer/roof.md#gather``; empty for neither.
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
        """Its two series say where spans begin and how long they are."""
        return self.style in ("span", "lanes")


@kind("chain")
@dataclass(frozen=True)
class Chain(Artifact):
    """Every stage one graph went through, as listings whose lines are linked by key.

    `panes` go from the Python source down to machine code, in the order of STAGES; each has
    its `stage`. What no pane marks (a key that leads nowhere) must not occur in `links`.
    """

    panes: tuple[Listing, ...] = ()
    compile_id: str = ""


@kind("diff")
@dataclass(frozen=True)
class Diff(Artifact):
    """The same code twice: for two targets, from two PyTorch versions, before and after an edit.

    `left` and `right` are listings in order, such as the panes of two chains; of each stage the
    first is compared with the first, the second with the second. `labels` name the two sides.
    """

    labels: tuple[str, str] = ("before", "after")
    left: tuple[Listing, ...] = ()
    right: tuple[Listing, ...] = ()


#: The stages a listing or graph can belong to, in the order a compile goes through them.
STAGES = (
    *("python", "bytecode", "dynamo", "joint", "forward", "backward", "pre_grad", "post_grad"),
    *("ir_pre_fusion", "ir", "wrapper", "kernel", "cpp", "asm"),
    *("ttir", "ttgir", "llir", "ptx", "sass"),
)
