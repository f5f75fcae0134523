"""The rules of attention against PyTorch's own answers, which were kept."""

from __future__ import annotations

import dataclasses

import pytest

torch = pytest.importorskip("torch")

from tclab.capturing.target.chooser import VERIFIED  # noqa: E402
from tclab.capturing.target.sdpa import (  # noqa: E402
    cudnn,
    efficient,
    flash,
    shared,
    versions,
)
from tclab.capturing.target.sdpa.call import CUDNN_FIRST, DEFAULT_ORDER, Call, Machine  # noqa: E402
from tclab.capturing.target.sdpa.choose import choose  # noqa: E402
from tclab.capturing.target.sdpa.rule import Rules  # noqa: E402
from tclab.targets import CUDNN, TARGETS  # noqa: E402
from tclab.workshop.verify.attention import cases, record, replay, report, symbols  # noqa: E402

HOPPER, AMPERE = (9, 0), (8, 0)


@pytest.fixture(scope="module")
def answers() -> replay.Answers:
    return replay.read()


def tensors(*shape: int) -> Call:
    return Call(*(torch.empty(shape, dtype=torch.float16, device="meta") for _ in "qkv"))


def test_every_answer_is_of_a_version_with_rules_and_its_cudnn(answers: replay.Answers) -> None:
    assert {(c.torch, c.cudnn) for c in answers.columns} <= set(CUDNN.items())
    assert set(CUDNN) == set(versions.VERSIONS)


def test_the_default_torch_was_asked_for_every_target(answers: replay.Answers) -> None:
    asked = {column.capability for column in answers.columns if column.torch == (2, 13)}
    assert asked >= {t.capability for t in TARGETS.values()}


def test_a_device_that_counts_as_verified_was_asked(answers: replay.Answers) -> None:
    assert {(c.torch, c.capability) for c in answers.columns if c.gpu} == VERIFIED
    assert len(answers.rows) >= 2000


def test_the_rules_say_the_same(answers: replay.Answers) -> None:
    assert {str(c): w for c, w in answers.find_wrong_calls(step=9).items() if w} == {}


def test_each_kernel_is_an_answer_often(answers: replay.Answers) -> None:
    """A table that knows only one answer would not be tested by calls that have only one."""
    for number, column in enumerate(answers.columns):
        letters = [row[number] for row, _ in answers.rows]
        wanted = "mfe-" if column.capability >= (8, 0) else "me-"
        assert all(letters.count(letter) >= 20 for letter in wanted), column


def test_a_rule_that_is_broken_is_found(
    answers: replay.Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = versions.VERSIONS[2, 13]
    rules = {**version.rules, "flash": version.rules["flash"][1:]}
    broken = dataclasses.replace(version, rules=rules)
    monkeypatch.setitem(versions.VERSIONS, (2, 13), broken)
    wrong = answers.find_wrong_calls(step=9)
    assert any(cases for column, cases in wrong.items() if column.torch == (2, 13))
    assert not any(cases for column, cases in wrong.items() if column.torch != (2, 13))


@pytest.mark.parametrize("version", versions.VERSIONS.values(), ids=lambda v: v.name)
def test_every_rule_names_its_place_in_the_source(version: versions.Version) -> None:
    assert len(version.commit) == 40
    for rules in version.rules.values():
        assert len({(rule.function, rule.about) for rule in rules}) == len(rules)
        assert all(rule.place.startswith("aten/src/ATen/native/transformers/") for rule in rules)


#: Each backend's rules in the order of its source, and the versions of PyTorch that ask them.
ASKED = {
    "cudnn": """
        cudnn.cudnn_9                    2.11 2.12 2.13 2.14 2.15
        cudnn.not_switched_off           2.11 2.12 2.13 2.14 2.15
        shared.four_dimensions           2.11 2.12 2.13 2.14 2.15
        cudnn.not_deterministic          2.11 2.12 2.13 2.14 2.15
        cudnn.low_precision              2.11 2.12 2.13 2.14 2.15
        shared.mask_fits                 2.11 2.12 2.13 2.14 2.15
        cudnn.hardware                   2.11 2.12 2.13 2.14 2.15
        cudnn.dropout                         2.12 2.13 2.14 2.15
        shared.nonzero_lengths           2.11 2.12 2.13 2.14 2.15
        shared.last_stride_if_wide       2.11 2.12 2.13 2.14 2.15
        shared.free_heads                2.11 2.12 2.13
        shared.free_or_one_head                         2.14
        shared.free_or_one_head_2_15                         2.15
        cudnn.batch_and_heads                      2.13 2.14 2.15
        cudnn.decode                                    2.14 2.15
        cudnn.head_sizes                 2.11 2.12 2.13
        cudnn.head_sizes_256                            2.14 2.15
        cudnn.positions                  2.11 2.12 2.13 2.14 2.15
        cudnn.keys_64_mod_128                                2.15
        cudnn.training                                  2.14 2.15
    """,
    "flash": """
        flash.not_switched_off           2.11 2.12 2.13 2.14 2.15
        shared.four_dimensions           2.11 2.12 2.13 2.14 2.15
        flash.no_mask                    2.11 2.12 2.13 2.14 2.15
        flash.head_size                  2.11 2.12 2.13 2.14 2.15
        flash.hardware                   2.11 2.12 2.13 2.14 2.15
        flash.training                   2.11 2.12 2.13 2.14
        flash.training_2_15                                  2.15
        flash.causal                     2.11 2.12 2.13 2.14 2.15
        flash.dtypes                     2.11 2.12 2.13 2.14 2.15
        shared.grouped_heads             2.11 2.12 2.13
        shared.grouped_or_one_head                      2.14
        shared.grouped_or_one_head_2_15                      2.15
        shared.nonzero_lengths           2.11 2.12 2.13 2.14 2.15
        shared.last_stride_if_wide       2.11 2.12 2.13 2.14 2.15
        flash.grid_size                                      2.15
    """,
    "efficient": """
        efficient.not_switched_off       2.11 2.12 2.13 2.14 2.15
        efficient.hardware               2.11 2.12 2.13 2.14 2.15
        shared.four_dimensions           2.11 2.12 2.13 2.14 2.15
        efficient.head_sizes             2.11 2.12 2.13 2.14 2.15
        efficient.beginnings                       2.13 2.14 2.15
        shared.nonzero_lengths           2.11 2.12 2.13 2.14 2.15
        shared.last_stride               2.11 2.12 2.13 2.14 2.15
        shared.equal_heads               2.11 2.12 2.13
        shared.grouped_or_one_head                      2.14
        shared.grouped_or_one_head_2_15                      2.15
        efficient.dtypes                 2.11 2.12 2.13 2.14 2.15
    """,
}
ROOMS = {"cudnn": cudnn, "efficient": efficient, "flash": flash, "shared": shared}


@pytest.mark.parametrize("backend", ASKED)
@pytest.mark.parametrize("version", versions.VERSIONS.values(), ids=lambda v: v.name)
def test_each_version_asks_these_rules_in_this_order(
    version: versions.Version, backend: str
) -> None:
    rows = [line.split() for line in ASKED[backend].strip().splitlines()]
    asked = [name.split(".") for name, *asking in rows if version.name in asking]
    assert [getattr(ROOMS[module], name) for module, name in asked] == [*version.rules[backend]]


def test_a_rule_that_is_not_asked_cannot_be_replaced() -> None:
    rules = Rules((shared.four_dimensions, shared.last_stride))
    with pytest.raises(ValueError, match="not in tuple"):
        rules.replace(shared.mask_fits, shared.equal_heads)
    with pytest.raises(ValueError, match="not in tuple"):
        rules.insert_after(shared.mask_fits, shared.equal_heads)


def test_the_first_reason_is_told() -> None:
    machine = Machine(AMPERE, 92000)
    choice = choose(tensors(2, 4, 128, 264), machine, versions.VERSIONS[2, 13])
    assert str(choice) == "efficient (not flash: head size to 256)"


def test_an_order_of_the_users_comes_first() -> None:
    for order, kernel in ((DEFAULT_ORDER, "flash"), (CUDNN_FIRST, "cudnn"), ((), "cudnn")):
        machine = Machine(HOPPER, 92000, order=order)
        choice = choose(tensors(2, 4, 128, 64), machine, versions.VERSIONS[2, 13])
        assert choice.backend == kernel


def test_no_cudnn_no_cudnn_kernel() -> None:
    choice = choose(tensors(2, 4, 128, 64), Machine(HOPPER, 0), versions.VERSIONS[2, 13])
    assert choice.backend == "flash"


def test_a_case_can_be_read_back() -> None:
    every = cases.make_cases(300)
    assert [cases.parse(str(case)) for case in every] == every


def test_the_same_cases_each_time() -> None:
    assert cases.make_cases(50) == cases.make_cases(50)


def test_a_call_with_symbols_can_be_read() -> None:
    call = symbols.parse("f16 b=4 u=? q:b,8,u,64 k:b,8,u,64 mask:1,1,u,u causal")
    assert (call.symbols, call.flags) == ({"b": "4", "u": "?"}, frozenset({"causal"}))
    assert call.sizes["mask"] == "1,1,u,u"
    assert len({line.split(" ", 1)[1] for line in symbols.CALLS.strip().splitlines()}) > 25


def test_a_report_names_what_differs(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [report.AnswerPair("flash", "flash", "one"), report.AnswerPair("math", "flash", "two")]
    assert report.print_summary({"cases": "2"}, rows) == 1
    out = capsys.readouterr().out
    assert "PyTorch math, rules flash: two" in out
    assert "one" not in out


def test_without_a_gpu_the_recorder_says_so(
    tmp_path: object, capsys: pytest.CaptureFixture[str]
) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    assert record.main(["--out", f"{tmp_path}/answers.txt"]) == 2
    assert "no GPU here" in capsys.readouterr().out
