"""Choices as they were measured on a GPU: ``records/h200-torch2.11/padding.json``.

A choice is known by Inductor's own key: sizes, layouts and types of a product, and what of its
padding is not timed. Of each the file has how often as long as padded the product took unpadded:
the least, the median and the most of several timings. Inductor pads from `PADS_ABOVE` on
(torch/_inductor/fx_passes/pad_mm.py: is_padded_faster).
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch

from tclab import imports
from tclab.project import NoProject, project_root
from tclab.targets import Target

#: Inductor pads a product that takes more than this times as long unpadded.
PADS_ABOVE = 1.1
FILE = "padding.json"


@dataclass(frozen=True)
class Ratio:
    """How often as long as padded a product took unpadded: least, median and most."""

    least: float
    median: float
    most: float

    @property
    def answer(self) -> str:
        """``yes`` or ``no`` to padding; '' where the limit is within its spread, or as near to it
        as the timings are to one another.
        """
        spread = self.most - self.least
        if self.most + spread <= PADS_ABOVE:
            return "no"
        return "yes" if self.least - spread > PADS_ABOVE else ""


@dataclass(frozen=True)
class Measurements:
    """What was measured on a `device` on a day, by key."""

    device: str = ""
    recorded: str = ""
    ratios: Mapping[str, Ratio] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """``as measured on an NVIDIA H200 on 2026-11-23``"""
        return f"as measured on an {self.device} on {self.recorded}"

    def answer(self, key: str) -> str:
        """The choice for a key; '' where it was not measured, or its timings do not say."""
        return self.ratios[key].answer if key in self.ratios else ""


NOTHING = Measurements()


def of(target: Target) -> Measurements:
    """What was measured on this device with the PyTorch that is installed; nothing, where that was
    not done: another PyTorch brings another cuBLAS, and other times.
    """
    version = ".".join(torch.__version__.split(".")[:2])
    return _read(f"{target.name}-torch{version}")


@functools.cache
def _read(environment: str) -> Measurements:
    try:
        path = project_root(Path(__file__).parent) / "records" / environment / FILE
    except NoProject:  # an installed tclab has no recordings
        return NOTHING
    imports.recorded_file(path)
    return load(path) if path.exists() else NOTHING


def load(path: Path) -> Measurements:
    """Measurements as ``tclab record-choices`` wrote them."""
    kept = json.loads(path.read_text(encoding="utf-8"))
    ratios = {row["key"]: Ratio(*row["ratio"]) for row in kept["products"]}
    return Measurements(kept["environment"]["gpu"], kept["recorded"], ratios)
