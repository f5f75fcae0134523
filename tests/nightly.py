"""Leave variations of a test to the night: ``make test`` runs them, and ``make check`` does not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def at_night(values: Iterable[Any], by_day: Iterable[Any]) -> list[Any]:
    """Return the parameters of a test; those that are not for the day are marked."""
    by_day = tuple(by_day)
    return [v if v in by_day else pytest.param(v, marks=pytest.mark.nightly) for v in values]


def one_in(ways: int, values: Iterable[Any]) -> list[Any]:
    """Return the parameters of a test; the day's is one in so many, the first of them."""
    values = list(values)
    return at_night(values, values[::ways])
