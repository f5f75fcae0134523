"""Planted differences: the operator and its line are named, and rounding is none."""

from __future__ import annotations

import pytest

from benchmarks.planted import plants
from tests.nightly import one_in

PLANTS = plants()


@pytest.mark.parametrize("name", one_in(3, (n for n, each in PLANTS.items() if each.plant)))
def test_the_operator_and_the_line_of_a_plant_are_named(name: str) -> None:
    found = PLANTS[name].judge()
    assert not PLANTS[name].missing(found), found
