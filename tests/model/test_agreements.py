"""The comparison with eager in one line, and in a report of an earlier tclab."""

from __future__ import annotations

import json
from dataclasses import replace

from tclab.model import DIFFERS, EQUAL, RANDOM, Agreement, Difference, Report, SourceLine

ROWS = Difference("output 0", "values", "1", "0", elements=448, total=512, rows=7, all_rows=8)


def test_one_line_for_each_verdict() -> None:
    assert str(Agreement(EQUAL, ulps=2)) == "equal to eager, to 2 ulps"
    assert str(Agreement(EQUAL, ulps=1)) == "equal to eager, to 1 ulp"
    measured = Agreement(EQUAL, ulps=90, relative=3e-7, eager_error=2e-7)
    assert str(measured) == "equal to eager, to 3.0e-07 (eager's own error: 2.0e-07)"
    nearer = replace(measured, eager_error=1.7e-3)
    assert "eager is 1.7e-03 from float64" in str(nearer) and "to 3.0e-07" not in str(nearer)
    coarse = replace(measured, relative=2e-3, eager_error=0.0)
    assert str(coarse) == (
        "equal to eager, within rounding of its coarsest type, but the compiled code is 2.0e-03 "
        "from float64, and eager 0.0e+00"
    )
    zero = Agreement(EQUAL, ulps=90, zero_error=3e-9, eager_zero_error=2e-9)
    assert str(zero) == (
        "equal to eager, to 3.0e-09 where all values are 0 but for rounding (eager's own error: "
        "2.0e-09)"
    )
    both = replace(measured, zero_error=3e-9, eager_zero_error=2e-9)
    assert str(both).startswith(f"{measured}, and to 3.0e-09 where")
    zeros = Agreement(EQUAL, unequal_bits="the sign of zeros")
    assert str(zeros) == "equal to eager, to the bit but for the sign of zeros"
    numbers = replace(zeros, number_error=5e-7)
    assert str(numbers).endswith("the sign of zeros and numbers of Python, equal to 5.0e-07")
    assert str(replace(numbers, ulps=2)) == (
        "equal to eager, to 2 ulps, and numbers of Python to 5.0e-07"
    )
    place = SourceLine("model.py", 12)
    found = Agreement(DIFFERS, differences=(ROWS, ROWS), stage="Inductor", line=place)
    assert str(found) == (
        "differs from eager: output 0, 7 of 8 rows, and 1 more, line 12, first in Inductor"
    )
    assert str(Agreement(RANDOM)) == "random, not comparable with eager"
    assert str(Agreement(reason="--no-compare")) == "not compared with eager: --no-compare"


def test_a_way_round_that_was_tried_is_the_next_step() -> None:
    assert Agreement(EQUAL).next_step == ""
    assert Agreement(DIFFERS, way="dynamic=True").next_step.startswith("dynamic=True: tried")


def test_a_report_keeps_it_and_one_without_it_is_read() -> None:
    report = Report("f", "report", agreement=Agreement(DIFFERS, differences=(ROWS,)))
    assert Report.from_json(report.to_json()) == report
    old = json.loads(report.to_json())
    del old["agreement"], old["snapshot"]["agreement"]
    assert Report.from_json(json.dumps(old)).agreement == Agreement()


def test_what_eager_refuses_is_to_be_corrected() -> None:
    refused = Difference("call 1", "exception", "RuntimeError: modified in place", "nothing")
    found = Agreement(DIFFERS, differences=(refused,), way="backend='aot_eager'")
    assert found.next_step.startswith("correct what eager raises for")
    assert "tried" in replace(found, differences=(ROWS,)).next_step
