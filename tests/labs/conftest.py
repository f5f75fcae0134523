"""Keep and show nothing that a lab's check runs, so that coverage may watch it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tclab.site.engine import variables

COVERAGE = {"COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG"}


@pytest.fixture(scope="module", autouse=True)
def _watched() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(variables, "SYSTEM", variables.SYSTEM | COVERAGE)
        yield
