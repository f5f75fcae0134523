"""Identities of recompiles and breaks: the same wherever the code lies and whoever compiles it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tclab.compare import compare_snapshots, words
from tclab.compare.baseline import read_baseline
from tclab.compare.identity import clean_guards, failed_guard
from tclab.compare.summary import CompileSummary
from tclab.model import RecompileIdentity, Snapshot
from tests.compare import guards

#: What a tclab wrote that kept the whole text of Dynamo: a counter, called three times.
OLD = Path(__file__).with_name("old") / "counter.torch2.13.json"
STEPS = (("self.step == 0",), ("self.step == 1", "self.step == 0"))
NOW = tuple(RecompileIdentity("forward", "m.py", guards) for guards in STEPS)


def test_guards_are_the_same_on_another_line_in_another_folder_and_process(tmp_path: Path) -> None:
    places = guards.matrix(tmp_path, every=False)
    first, last = places.values()
    drawn = guards.drawn(places)
    assert all(first.values()), drawn
    assert first == last, drawn


def test_a_file_with_whole_texts_is_read_as_if_it_had_guards() -> None:
    old = read_baseline(OLD)
    assert old.recompiles == NOW
    assert compare_snapshots(old, replace(old, recompiles=NOW)).same
    assert clean_guards(old) == old
    assert "User stack trace" in "".join(
        guard for each in Snapshot.from_json(OLD.read_text()).recompiles for guard in each.guards
    )


@pytest.mark.parametrize(
    ("reason", "guard"),
    [
        ("0/0: L['self'].step == 2   # self.step += 1  # m.py:9 in forward", "self.step == 2"),
        ("how == 'a  # b'       # return x  # m.py:9 in f", "how == 'a  # b'"),
        ("how == \"it's  # b\"       # return x  # m.py:9 in f", "how == \"it's  # b\""),
        ("0/1: of == frozenset({'b', 'a'})   # x", "of == frozenset({'a', 'b'})"),
        ("how == '{2, 1}'", "how == '{2, 1}'"),
        ("expected type of 'x' to be a tensor type, ' but found <class 'int'>",
         "expected type of 'x' to be a tensor type, ' but found <class 'int'>"),
        ('type=<code object sine at 0x7f3a5c2b1d40, file "<tmp>/m.py", line 36>',
         "type=<code object sine>"),
        ("", ""),
    ],
)  # fmt: skip
def test_a_guard_is_what_a_user_would_write(reason: str, guard: str) -> None:
    assert failed_guard(reason) == guard == failed_guard(guard)


def test_each_guard_has_its_own_advice_from_its_value() -> None:
    """Joined, two guards gave ``torch.tensor(1.5;)`` and a lone one ``torch.tensor(2,)``."""
    guards = "self.step == 2", "scale == 1.5"
    before, after = Snapshot(), Snapshot(recompiles=(RecompileIdentity("f", "m", guards),))
    (said,) = words.list_recompiles(CompileSummary(after))
    assert "self.step is a Python number" in said and "torch.tensor(2)," in said
    assert "scale is a Python number" in said and "torch.tensor(1.5)," in said
    lines = [*words.list_changes(compare_snapshots(before, after).changes)]
    assert len([line for line in lines if "fix: " in line]) == 2
