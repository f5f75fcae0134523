"""Two records of `records/versions/`, compared, and shown as tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import tclab
from tclab.model import Kernel
from tclab.site.versions import name_lists, records, tables
from tclab.site.versions.step import Step

_HERE = Path(__file__).resolve().parent
_PLACES = (_HERE, _HERE.parents[1] / "records" / "versions")
#: Where the lists of names and defaults of each version lie.
_LISTS = _HERE.parents[1] / "docs" / name_lists.FOLDER
#: The lists of settings, by module.
_SETTINGS = ("dynamo", "functorch", "inductor", "compiler", "symbolic")
#: What decides how often a function compiles: the limits, dynamic shapes, the FX graph cache.
COMPILES_AGAIN = {"dynamo.recompile_limit", "dynamo.accumulated_recompile_limit",
                  "dynamo.automatic_dynamic_shapes", "dynamo.assume_static_by_default",
                  "inductor.fx_graph_cache"}  # fmt: skip
#: New in 2.12 and in 2.13: PyTorch's comments say that they are for the precision of 16-bit types.
KEEP_ADDMM = "inductor.keep_addmm_fused_for_half_dtypes"
EMULATE_CASTS = "inductor.emulate_precision_casts_on_saved_tensors"
#: Corpus and target → what its table of causes is called.
_PARTS = {
    ("functions", "h200"): "Functions for an H200",
    ("models", "h200"): "Whole models for an H200",
    ("models", "a100"): "Whole models for an A100",
}

_SEVERAL = " (one kernel can have several causes)"


def recorded(release: str) -> records.VersionRecord:
    """The record of a release: beside this file, or in the project."""
    name = f"torch{release}.json"
    return records.read(next(p / name for p in _PLACES if (p / name).exists()))


def between(before: str, after: str) -> Step:
    """What two releases made of the same, compared.

    2.11 padded products for an H200 where that was measured to pay, the others wherever the shapes
    allow it. What hangs on that is no difference of PyTorch, and left out.
    """
    old, new = recorded(before), recorded(after)
    if before == "2.11":
        alike = (each for each in old.compiles if not _is_measured(each))
        old = replace(old, compiles=tuple(alike))
    return Step(old, new)


def _is_measured(each: records.Compile) -> bool:
    whole = each.corpus == "models" or each.name == "products/matmul_unaligned"
    return each.target == "h200" and whole


def grown(step: Step) -> list[str]:
    """What plans more memory than before, the most first."""
    every = [row for part in step.parts.values() for row in part.memory]
    more = [row for row in every if row[2] > row[1]]
    return list(dict.fromkeys(row[0] for row in sorted(more, key=lambda row: row[1] / row[2])))


def shrunk(step: Step) -> set[str]:
    """What plans less memory than before."""
    every = (row for part in step.parts.values() for row in part.memory)
    return {name for name, old, new in every if new < old}


def moving(step: Step) -> dict[str, tuple[int, int]]:
    """Corpus → how many of its functions or models have numbers that may move, of how many."""
    names: dict[str, tuple[set[str], set[str]]] = {}
    for (corpus, _), part in step.parts.items():
        some, every = names.setdefault(corpus, (set(), set()))
        some.update(each.before.name for each in part.possibly_different)
        every.update(each.before.name for each in part.pairs)
    return {corpus: (len(some), len(every)) for corpus, (some, every) in names.items()}


def kernels_of_models(step: Step) -> tuple[int, int]:
    """The number of kernels of all models, before and after."""
    every = [pair for key, part in step.parts.items() if key[0] == "models"
             for pair in part.kernels]  # fmt: skip
    return sum(bool(pair.old) for pair in every), sum(bool(pair.new) for pair in every)


def breaks(step: Step) -> dict[str, int]:
    """How many graph breaks are "new" and how many "gone"."""
    counts = {"new": 0, "gone": 0}
    for number, _, which in tables.breaks(step).rows:
        counts[which] += number
    return counts


def bodies(step: Step, name: str) -> list[str]:
    """The kernels of a function for an H200, under each of the two releases as one text."""
    versions = step.before.compiles, step.after.compiles
    found = (next(e for e in each if (e.corpus, e.name, e.target) == ("functions", name, "h200"))
             for each in versions)  # fmt: skip
    return ["\n".join(k.body for k in each.snapshot.kernels) for each in found if each.snapshot]


def show_settings(step: Step) -> dict[str, set[str]]:
    """Show the settings that are gone, have another default, or are new and on; return the names of
    those "gone", with "another default" and "new and on". A leading underscore is of PyTorch's own,
    and left out.
    """
    known = name_lists.read_lists(_LISTS if _LISTS.exists() else _HERE)
    old, new = known[step.before.release], known[step.after.release]
    gone = {f"{table}.{name}": _instead(table, name, new[table]) for table in _SETTINGS
            for name in sorted(old[table] - new[table]) if not _is_private(name)}  # fmt: skip
    changed = name_lists.changed_defaults(old, new)
    there = {each.partition(" = ")[0] for each in old[name_lists.DEFAULTS]}
    on = {name for name, _, default in (e.partition(" = ") for e in new[name_lists.DEFAULTS])
          if default == "True" and name not in there and not _is_private(name)}  # fmt: skip
    rows = [(name, "is there", "is gone", instead) for name, instead in gone.items()]
    rows += [(name, *pair, _behind(name, pair[1], new)) for name, pair in changed.items()]
    rows += [(name, "is not there", "True", "") for name in sorted(on)]
    said = _comments(old) | _comments(new)
    rows = [(*row, said.get(row[0], "none")) for row in rows]
    columns = ("setting", step.before.release, step.after.release, "see", "PyTorch's comment")
    title = "Settings that are gone, have another default, or are new and on"
    tclab.show(tclab.Table(title, "settings", columns, rows))
    return {"gone": {*gone}, "another default": {*changed}, "new and on": on}


def _comments(names: name_lists.NamesByTable) -> dict[str, str]:
    """Setting → the first sentence of PyTorch's comment on it."""
    pairs = (each.partition(" = ") for each in names[name_lists.COMMENTS])
    return {name: comment for name, _, comment in pairs}


def _is_private(name: str) -> bool:
    return name.rpartition(".")[2].startswith("_")


def _instead(table: str, name: str, names: frozenset[str]) -> str:
    """The settings of a table that have the last part of the name, or all of it and more."""
    last = name.rpartition(".")[2]
    found = (each for each in sorted(names) if each.startswith(f"{name}.") or each == last)
    return ", ".join(f"{table}.{each}" for each in found)


def _behind(name: str, default: str, new: name_lists.NamesByTable) -> str:
    """Where the new default is None: the setting `_NAME_default`, and its value."""
    module, _, last = name.rpartition(".")
    start = f"{module}._{last}_default = "
    found = (each for each in sorted(new[name_lists.DEFAULTS]) if each.startswith(start))
    return ", ".join(found) if default == "None" else ""


def same_recompiles(step: Step) -> bool:
    """Whether each claim about recompiles held under both."""
    old, new = (each.claims["beliefs/what_compiles_again"] for each in (step.before, step.after))
    return old == new and set(new.values()) == {records.HELD}


def trained(step: Step) -> dict[str, set[str]]:
    """Training steps that plan "more" memory than before, and those that plan "less"."""
    rows = [row for part in step.parts.values() for row in part.memory
            if row[0].startswith("training/")]  # fmt: skip
    return {"more": {name for name, old, new in rows if new > old},
            "less": {name for name, old, new in rows if new < old}}  # fmt: skip


def broken(step: Step) -> dict[str, set[str]]:
    """What has a "new" graph break, and where one is "gone"."""
    names: dict[str, set[str]] = {"new": set(), "gone": set()}
    for each in step.pairs:
        for change in each.upgrade.comparison.changes:
            if change.part == "graph breaks":
                names["gone" if change.after is None else "new"].add(each.before.name)
    return names


def needs(step: Step) -> list[tuple[str, str]]:
    """(Triton, CUDA) of each of the two."""
    return [(e.machine.triton, e.machine.cuda) for e in (step.before, step.after)]


def step_to(before: str, after: str) -> Step:
    """Compare two releases, and show all tables."""
    step = between(before, after)
    tclab.show(tables.levels(step))
    for key, part in step.parts.items():
        name = f"causes-{'-'.join(key)}"
        tclab.show(tables.causes(part, name, f"{_PARTS[key]}: why kernels differ{_SEVERAL}"))
    for table in (tables.memory(step), tables.breaks(step)):
        tclab.show(table)
    _show_pair(step)
    return step


def _show_pair(step: Step) -> None:
    """A kernel of the worst cause under both, the one with the least to read."""
    every = [cause for part in step.parts.values() for cause in part.causes]
    pairs = [cause.example for cause in every if cause.form.can_move_numbers]
    if pair := next((pair for pair in pairs if pair.old and pair.new), None):
        code = ((Kernel(each.title, "", f"{each.body}\n", each.language, "kernel"),)
                for each in pair.kernels)  # fmt: skip
        labels = f"PyTorch {step.before.release}", f"PyTorch {step.after.release}"
        tclab.show(tclab.Diff(pair.kernels[-1].title, "pair", labels, *code))
