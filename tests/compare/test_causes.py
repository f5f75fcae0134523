"""Real pairs of kernels, each with the causes that it has; and what is not in one, planted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tclab.compare import causes, compare_snapshots, forms
from tclab.compare.flow import Flow
from tclab.model import KernelIdentity, Snapshot

PAIRS = Path(__file__).parent / "pairs"
MAXIMUM = "maximum and minimum with a helper, and without"
EXPECTED = {
    "barrier": {"a barrier between loads and stores", MAXIMUM},
    "full_mask": {"a mask where a block has the size of its row, and none"},
    "in_place": {"a buffer written in place, and one of its own"},
    "index": {"an index, and the same index simplified"},
    "maximum_of_a_row": {"`max2` and `fmax2` in the online softmax"},
    "maximum_with_a_helper": {MAXIMUM},
    "negative_index": {"an index that may count from the end, and one that may not"},
    "normal_random_numbers": {"`triton_helpers.rand4x` and `tl.rand`"},
    "numerator": {"a numerator that is an integer, and one that is float32"},
    "padding": {"a padding that is chosen, and one that the load fills in"},
    "product_and_sum": {"a product and a sum, and `tl.fma`"},
    "random_numbers": {"`triton_helpers.rand4x` and `tl.rand`"},
    "root_of_a_batch_norm": {
        "a reciprocal of a root and `libdevice.rsqrt`",
        "a product with 1.0, and none",
        MAXIMUM,
    },
    "sign_of_float64": {"a test for a sign that float64 has now, too"},
    "signed_zeros": {"the online softmax's switch for signed zeros, which is off"},
    "times_one": {"a product with 1.0, and none"},
}


def bodies(name: str) -> tuple[str, str]:
    """The two texts of a file: each below its line of provenance."""
    old, new = (PAIRS / f"{name}.txt").read_text(encoding="utf-8").split("\n# PyTorch ")
    return old.partition("\n")[2], new.partition("\n")[2]


def kernel(body: str, **other: object) -> KernelIdentity:
    made = KernelIdentity(("aten.add",), "pointwise", "forward", "python", body, body)
    return replace(made, **other)


def grouped(old: KernelIdentity | None, new: KernelIdentity | None) -> dict[str, causes.Cause]:
    """Return the causes between two compiles of one kernel each, by name."""
    sides = [Snapshot(kernels=(each,) if each else ()) for each in (old, new)]
    return {each.form.name: each for each in causes.find_causes(compare_snapshots(*sides).pairs)}


def test_every_pair_is_expected() -> None:
    assert {path.stem for path in PAIRS.glob("*.txt")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("back", [False, True])
def test_a_real_pair_has_its_causes_in_either_direction(name: str, back: bool) -> None:
    old, new = map(kernel, reversed(bodies(name)) if back else bodies(name))
    assert set(grouped(old, new)) == EXPECTED[name]


@pytest.mark.parametrize("name", EXPECTED)
def test_one_more_change_is_seen_behind_the_known_ones(name: str) -> None:
    """A number or an operator that is another one, anywhere: the rest is said to be unknown."""
    old, new = bodies(name)
    for planted in (new.replace(" * ", " / ", 1), new.replace("tl.float32", "tl.float16", 1),
                    new.replace("tl.store(ptr_", "tl.store(1 + ptr_", 1)):  # fmt: skip
        if planted != new:
            found = grouped(kernel(old), kernel(planted))
            assert forms.UNKNOWN in {each.form.numbers for each in found.values()}, planted


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("64 * r + x % 64", "64 * r + x % 128"),
        ("x // 64 % 4", "x // 64"),
        ("2 * x", "x"),
        ("x", "y"),
    ],
)
def test_an_index_that_is_another_somewhere_is_not_known(one: str, two: str) -> None:
    text = "def kernel(ptr_0, ptr_1):\n    tl.store(ptr_1 + x, tl.load(ptr_0 + ({}), None), None)\n"
    assert set(grouped(kernel(text.format(one)), kernel(text.format(two)))) == {"not known"}


_TOLD = """\
def kernel(ptr_0, ptr_1, xnumel, XBLOCK):
    {size}numel = {number}
    tl.store(ptr_0 + {other}, tl.load(ptr_1 + x, None), None)
"""


def test_what_no_rule_makes_equal_is_told_by_its_sizes() -> None:
    old = _TOLD.format(size="x", number=64, other=1)
    same, other = (_TOLD.format(size="x", number=number, other=2) for number in (64, 128))
    assert set(grouped(kernel(old), kernel(same))) == {"not known"}
    assert set(grouped(kernel(old), kernel(other))) == {"the same operators over other sizes"}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            "x = triton_helpers.online_softmax_reduce(x)",
            "a softmax in one pass over the row, and in two",
        ),
        (
            "for r0_offset in tl.range(0, 8, 4):\n        x = x + 1",
            "a row in one block, and in a loop",
        ),
    ],
)
def test_what_no_rule_makes_equal_is_told_by_what_one_has(text: str, name: str) -> None:
    body = "def kernel(ptr_0, x):\n    {}\n    tl.store(ptr_0 + x, 1.0, None)\n"
    assert set(grouped(kernel(body.format("x = x * 2")), kernel(body.format(text)))) == {name}


_PLACES = """\
def kernel(ptr_0, ptr_1, xnumel, XBLOCK):
    xindex = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:]
    x_0 = xindex % 4
    tmp_0 = tl.load(ptr_1 + x_0, None)
    tl.store(ptr_0 + xindex, {} < 3, None)
"""


def test_an_index_whose_type_is_said_moves_no_number() -> None:
    old, new = (_PLACES.format(text) for text in ("-1 + x_0", "(-1 + x_0).to(tl.int64)"))
    (found,) = grouped(kernel(old), kernel(new)).values()
    assert found.form.name == "an index whose type is said, and one whose type is not"
    assert not found.form.can_move_numbers


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("tmp_0", "tmp_0.to(tl.int32)"),
        ("x_0 * 0.5", "(x_0 * 0.5).to(tl.int32)"),
        ("x_0", "x_0.to(tl.int8)"),
        ("x_0", "x_0.to(tl.float32)"),
    ],
)
def test_a_conversion_that_can_change_a_value_is_not_known(one: str, two: str) -> None:
    old, new = (_PLACES.format(text) for text in (one, two))
    assert set(grouped(kernel(old), kernel(new))) == {"not known"}


def test_blocks_of_two_dimensions_have_a_name_and_are_not_said_to_move_nothing() -> None:
    old = "def kernel(ptr_0, xnumel, XBLOCK):\n    tl.store(ptr_0 + xnumel, 1.0, None)\n"
    new = old.replace("xnumel, XBLOCK", "ynumel, xnumel, YBLOCK, XBLOCK")
    (found,) = grouped(kernel(old), kernel(new)).values()
    assert (found.form, found.form.numbers) == (forms.TILED, forms.UNKNOWN)


def test_a_hint_for_the_cache_moves_no_number() -> None:
    old = "def kernel(ptr_0, ptr_1):\n    tl.store(ptr_1 + 0, tl.load(ptr_0 + 0, None), None)\n"
    new = old.replace("None)", "None, eviction_policy='evict_first')", 1)
    (found,) = grouped(kernel(old), kernel(new)).values()
    assert (found.form.name, found.form.numbers) == ("a hint for the cache, what to drop", "no")


_PRODUCT = """\
def kernel(ptr_0, ptr_1):
    ALLOW_TF32: tl.constexpr = True
    EVEN: tl.constexpr = True
    acc = tl.zeros((16, 16), dtype=tl.float32)
    for k in range(0, 4):
        a = tl.load(ptr_0 + k)
        if EVEN:
            a = a + 1
        acc += tl.dot(a, a, allow_tf32=ALLOW_TF32)
    tl.store(ptr_1 + 0, acc)
"""


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("ALLOW_TF32", "a product that may be rounded to TF32, and one that may not"),
        ("EVEN", "not known"),
    ],
)
def test_a_constant_that_a_statement_reads_is_compared(name: str, form: str) -> None:
    """In a sum that is added up, and in a test."""
    new = _PRODUCT.replace(f"{name}: tl.constexpr = True", f"{name}: tl.constexpr = False")
    (found,) = grouped(kernel(_PRODUCT), kernel(new)).values()
    assert (found.form.name, found.form.numbers) == (form, forms.UNKNOWN)


def test_values_in_another_order_are_the_same_operations() -> None:
    text = "def kernel(ptr_0, ptr_1, ptr_2):\n    tmp_0 = tl.load(ptr_0 + {})\n"
    text += "    tmp_1 = tl.load(ptr_1 + {})\n    tl.store(ptr_2 + x, {})\n"
    old = text.format("x", "2 * x", "tmp_0 - tmp_1")
    new = text.format("x * 2", "x", "tmp_1 - tmp_0")
    assert set(grouped(kernel(old), kernel(new))) == {"the same operations in another order"}
    assert set(grouped(kernel(old), kernel(new.replace("tmp_1 - tmp_0", "tmp_0 - tmp_1")))) == {
        "not known"
    }


def test_a_name_with_two_values_is_read_where_it_stands() -> None:
    """In a loop: before it is set, and after."""
    before = "def kernel(ptr_0):\n    a = 0\n    b = f(a)\n    a = 1\n    tl.store(ptr_0 + 0, b)\n"
    after = "def kernel(ptr_0):\n    a = 0\n    a = 1\n    b = f(a)\n    tl.store(ptr_0 + 0, b)\n"
    assert Flow(before).canonical_lines != Flow(after).canonical_lines


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"registers": 40}, "the same code, and another Triton's instructions"),
        ({"spilled": 8}, "the same code, and another Triton's instructions"),
        ({"configuration": "XBLOCK=64"}, "another configuration"),
        ({"launch": {"size_hints": "{'x': 64}"}}, "metadata of the kernel, such as sizes"),
    ],
)
def test_what_stands_beside_equal_code(change: dict[str, object], name: str) -> None:
    body = "def kernel(ptr_0):\n    tl.store(ptr_0 + 0, 1.0)\n"
    old = kernel(body, registers=32, spilled=0, bytes=64)
    (found,) = grouped(old, replace(old, **change)).values()
    assert found.form.name == name
    assert found.total("registers") == (32, change.get("registers", 32))


def test_a_kernel_that_one_side_has_alone_is_another_fusion() -> None:
    (found,) = grouped(kernel("def kernel(ptr_0):\n    f()\n"), None).values()
    assert (found.form.name, found.total("bytes")) == ("another fusion or decomposition", None)


def test_what_can_move_numbers_comes_first() -> None:
    olds, news = zip(*(map(kernel, bodies(name)) for name in ("index", "random_numbers")))
    found = causes.find_causes(
        compare_snapshots(Snapshot(kernels=olds), Snapshot(kernels=news)).pairs
    )
    assert [each.form.numbers for each in found] == ["yes", "no"]
    assert found[0].form.issue == "pytorch#198333"
