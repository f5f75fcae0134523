"""Read the timings of choices that were measured on a GPU: ``records/h200-torch2.11/padding.json``,
which the wheel has as ``shipped/h200-torch2.11/padding.json``.

The key of a choice is Inductor's own: sizes, layouts and types of a matrix product, and whether its
inputs' padding is left out of the timing. For each key the file has the time of the product without
padding divided by its time with padding: the least, the median and the greatest ratio of several
timings. Inductor pads above a ratio of `PADS_ABOVE` (torch/_inductor/fx_passes/pad_mm.py:
is_padded_faster).
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from tclab.system import imports
from tclab.system.project import NoProject, project_root
from tclab.targets import Target

if TYPE_CHECKING:
    from importlib.abc import Traversable

#: Inductor pads a product if its time without padding is more than this multiple of its time with
#: padding.
PADS_ABOVE = 1.1
FILE = "padding.json"


@dataclass(frozen=True)
class Ratio:
    """The ratios of a product's time without padding to its time with padding: the least, the
    median and the greatest of several timings.
    """

    least: float
    median: float
    most: float

    @property
    def answer(self) -> str:
        """Whether Inductor pads, ``yes`` or ``no``; '' if the timings do not decide. The timings
        decide if the limit lies outside of their range by more than the range's width.
        """
        spread = self.most - self.least
        if self.most + spread <= PADS_ABOVE:
            return "no"
        return "yes" if self.least - spread > PADS_ABOVE else ""

    @property
    def distance(self) -> str:
        """How far the range is from the limit, as text."""
        gap = max(self.least - PADS_ABOVE, PADS_ABOVE - self.most)
        if gap <= 0:
            return "within these timings"
        return f"{gap:.2f} from these timings, and they vary by {self.most - self.least:.2f}"

    def __str__(self) -> str:
        """Return the median and the range as text: ``1.05 (0.90 to 1.20)``."""
        return f"{self.median:.2f} ({self.least:.2f} to {self.most:.2f})"


@dataclass(frozen=True)
class Measurements:
    """The ratios measured on a `device`, by Inductor's key. `recorded` is the date of the
    measurements.
    """

    device: str = ""
    recorded: str = ""
    ratios: Mapping[str, Ratio] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """The source of the measurements as text: ``as measured on an NVIDIA H200 on
        2026-11-23``.
        """
        return f"as measured on an {self.device} on {self.recorded}"

    def answer(self, key: str) -> str:
        """Return ``yes`` or ``no`` for a key; '' if it was not measured or the timings do not
        decide.
        """
        return self.ratios[key].answer if key in self.ratios else ""

    def doubt(self, key: str) -> str:
        """Return why the timings of a key do not decide, as text; '' if it was not measured."""
        if key not in self.ratios:
            return ""
        ratio = self.ratios[key]
        return (
            f"without padding it took {ratio} times as long on an {self.device} on "
            f"{self.recorded}; above {PADS_ABOVE} it is padded, which is {ratio.distance}"
        )


NO_MEASUREMENTS = Measurements()


def measurements_for(target: Target) -> Measurements:
    """Return the measurements on this device with the installed PyTorch; empty if there are none.
    Another PyTorch has another cuBLAS, and so other times.
    """
    version = ".".join(torch.__version__.split(".")[:2])
    return _read_recorded(f"{target.name}-torch{version}")


@functools.cache
def _read_recorded(environment: str) -> Measurements:
    path: Traversable
    try:
        path = project_root(Path(__file__).parent) / "records" / environment / FILE
        imports.note_recorded_file(path)
    except NoProject:
        path = files(__package__) / "shipped" / environment / FILE
    return load_measurements(path) if path.is_file() else NO_MEASUREMENTS


def load_measurements(path: Traversable) -> Measurements:
    """Read a file that ``tclab record-choices`` wrote."""
    table = json.loads(path.read_text(encoding="utf-8"))
    ratios = {row["key"]: Ratio(*row["ratio"]) for row in table["products"]}
    return Measurements(table["environment"]["gpu"], table["recorded"], ratios)
