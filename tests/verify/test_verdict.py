"""What the comparison calls kernels of both sides, where the GPU timed something and where not."""

from __future__ import annotations

from typing import Any

import pytest

from tclab.workshop.verify.verdict import compare_function

pytest.importorskip("torch")

SOURCE = """\
{name} = async_compile.triton('{name}', '''
def {name}(x):
    {body}
''', device_str='cuda')
"""


def wrapper(**kernels: str) -> str:
    head = (
        "from torch._inductor.async_compile import AsyncCompile\nasync_compile = AsyncCompile()\n"
    )
    return head + "".join(SOURCE.format(name=n, body=b) for n, b in kernels.items())


def side(*wrappers: str, **more: Any) -> dict[str, Any]:
    return {"status": "done", "wrappers": list(wrappers), "seconds": 1.0, **more}


def counts(row: dict[str, Any]) -> tuple[int, int, int, int]:
    return row["identical"], row["either"], row["different"], row["refused"]


FIRST = wrapper(triton_poi_a_0="one", triton_poi_b_1="two")
SECOND = wrapper(triton_poi_a_0="one", triton_poi_pad_1="pad", triton_poi_b_2="other")
VARIANT = {"questions": ["pad: mm"], "wrappers": [SECOND], "after": 0, "instead_of": 1}
TARGET = side(FIRST, variants=[VARIANT])


def test_every_character_counts() -> None:
    assert counts(compare_function("f", side(FIRST), side(FIRST))) == (2, 0, 0, 0)
    other = side(FIRST.replace("two", "tvo"))
    row = compare_function("f", other, side(FIRST))
    assert (counts(row), row["verdict"]) == ((1, 0, 1, 0), "different")


def test_a_kernel_that_only_the_target_has_is_different() -> None:
    row = compare_function("f", side(wrapper(triton_poi_a_0="one")), side(FIRST))
    assert (counts(row), row["verdict"]) == ((1, 0, 1, 0), "different")


def test_the_order_of_graphs_does_not_count() -> None:
    """A GPU compiles backward graphs when they are run, last first."""
    row = compare_function("f", side(FIRST, SECOND), side(SECOND, FIRST))
    assert (counts(row), row["verdict"]) == ((5, 0, 0, 0), "identical")


def test_what_stands_around_equal_kernels_is_looked_at() -> None:
    row = compare_function("f", side(FIRST), side(FIRST + "call()\n"))
    assert (counts(row), row["verdict"]) == ((2, 0, 0, 0), "same kernels")


@pytest.mark.parametrize(("real", "way", "either"), [(FIRST, "first", 1), (SECOND, "second", 2)])
def test_either_way_is_no_difference(real: str, way: str, either: int) -> None:
    row = compare_function("f", side(real), TARGET)
    assert (counts(row), row["verdict"], row["way"]) == ((1, either, 0, 0), "open", way)


def test_a_kernel_of_neither_way_is_different() -> None:
    row = compare_function("f", side(SECOND.replace("other", "third")), TARGET)
    assert (counts(row), row["verdict"]) == ((1, 1, 1, 0), "different")


def test_an_exact_kernel_that_is_not_there_is_different() -> None:
    row = compare_function("f", side(FIRST.replace("one", "two")), TARGET)
    assert row["verdict"] == "different"


def test_what_a_gap_hides_is_refused() -> None:
    """The gap is the whole reason; a diff of the files would only repeat it."""
    row = compare_function(
        "f", side(FIRST, wrapper(triton_poi_c_0="three")), side(FIRST, gaps=["c: why"])
    )
    assert (counts(row), row["verdict"]) == ((2, 0, 0, 1), "refused in part")
    assert row["reason"] == "c: why"


def test_a_gap_does_not_hide_a_kernel_that_is_shown_and_not_there() -> None:
    wrong = side(FIRST.replace("two", "tvo"), gaps=["c: why"])
    row = compare_function("f", side(FIRST, wrapper(triton_poi_c_0="three")), wrong)
    assert (counts(row), row["verdict"]) == ((1, 0, 1, 1), "different")
    other = VARIANT | {"wrappers": [SECOND.replace("one", "tvo")]}
    timed = side(FIRST.replace("one", "tvo"), variants=[other], gaps=["c: why"])
    row = compare_function("f", side(FIRST), timed)
    assert (counts(row), row["verdict"]) == ((0, 1, 1, 0), "different")


def test_a_gap_beside_a_timed_choice_refuses_what_is_not_shown() -> None:
    real = side(SECOND, wrapper(triton_poi_c_0="three"))
    row = compare_function("f", real, side(FIRST, variants=[VARIANT], gaps=["c: why"]))
    assert (counts(row), row["verdict"]) == ((1, 2, 0, 1), "refused in part")


def test_kernels_around_what_is_refused_are_numbered_otherwise() -> None:
    real = wrapper(triton_poi_c_0="three", triton_poi_a_1="one")
    row = compare_function("f", side(real), side(wrapper(triton_poi_a_0="one"), gaps=["c: why"]))
    assert (counts(row), row["verdict"]) == ((1, 0, 0, 1), "refused in part")


def test_two_choices_may_go_different_ways() -> None:
    """Each of the four kernels may be there; a fifth may not."""
    ways = [wrapper(triton_poi_add_0=f"{one}{two}") for two in "nY" for one in "nY"]
    names = (["pad: a"], ["pad: b"], ["pad: a", "pad: b"])
    variants = [
        {"questions": asked, "wrappers": [way], "after": 0, "instead_of": 1}
        for asked, way in zip(names, ways[1:], strict=True)
    ]
    for way in ways:
        row = compare_function("f", side(way), side(ways[0], variants=variants))
        assert (counts(row), row["reason"]) == ((0, 1, 0, 0), "pad: a; pad: b")
    row = compare_function(
        "f", side(wrapper(triton_poi_add_0="??")), side(ways[0], variants=variants)
    )
    assert (counts(row), row["verdict"]) == ((0, 0, 1, 0), "different")


def test_kernels_that_rest_on_a_measured_choice_are_counted() -> None:
    otherwise = [{"questions": [], "wrappers": [SECOND], "after": 0, "instead_of": 1}]
    row = compare_function("f", side(FIRST), side(FIRST, otherwise=otherwise))
    assert (row["identical"], row["measured"], row["verdict"]) == (2, 1, "identical")
    row = compare_function("f", side(SECOND), side(FIRST, otherwise=otherwise))
    assert row["verdict"] == "different"


def test_no_kernel_is_not_identical() -> None:
    assert compare_function("f", side(wrapper()), side(wrapper()))["verdict"] == "no kernels"
