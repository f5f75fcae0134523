"""Guards, recompiles and symbols."""

from __future__ import annotations

import pytest
import torch

import tclab

SCALE = 3


def scaled(x, factor):
    return x * SCALE + factor


@pytest.fixture(scope="module")
def resized() -> tclab.Capture:
    sizes = [(torch.ones(n, 4), 2) for n in (8, 16, 32)]
    return tclab.capture(scaled, backend="eager").over(sizes)


def test_one_guards_for_each_cache_entry(resized):
    assert [g.compile_id for g in resized.guards] == ["0/0", "0/1"]
    assert {g.function for g in resized.guards} == {"scaled"}
    assert [g.name for g in resized.guards] == ["guards-0", "guards-1"]


def test_a_tensor_is_guarded_by_its_properties(resized):
    (tensor,) = [g for g in resized.guards[0] if g.type == "TENSOR_MATCH"]
    assert tensor.source == "L['x']"
    assert "size=[8, 4]" in tensor.checks[0]
    assert "#" not in tensor.checks[0]
    assert tensor.location.file == "tests/capturing/read/test_guards.py"
    assert tensor.location.line == scaled.__code__.co_firstlineno + 1
    assert tensor.location.code == "return x * SCALE + factor"


def test_globals_and_numbers_are_guarded_too(resized):
    guarded = {g.source: g.type for g in resized.guards[0] if g.type.endswith("_MATCH")}
    assert guarded["G['SCALE']"] in {"EQUALS_MATCH", "CONSTANT_MATCH"}
    assert guarded["L['factor']"] in {"EQUALS_MATCH", "CONSTANT_MATCH"}


def test_every_leaf_of_the_tree_is_a_guard(resized):
    for guards in resized.guards:
        text = [line.lstrip("| ").removeprefix("+- ") for line in guards.tree.splitlines()]
        leaves = [line for line in text if line.split(":")[0].isupper()]
        assert len(guards) == len([x for x in leaves if not x.startswith("TREE_GUARD_MANAGER")])


def test_a_second_size_recompiles_and_a_third_does_not(resized):
    (recompile,) = resized.recompiles
    assert (recompile.compile_id, recompile.function) == ("0/1", "scaled")
    assert recompile.reasons == ("0/0: tensor 'x' size mismatch at index 0. expected 8, actual 16",)
    assert recompile.location.line == scaled.__code__.co_firstlineno


def test_the_second_compile_has_a_symbol(resized):
    (symbol,) = resized.symbols
    assert (symbol.value, symbol.source) == ("16", "L['x'].size()[0]")
    assert symbol.bounds == "[2, int_oo]"
    node = next(n for n in resized.graphs[1].nodes if n.target == "operator.mul")
    assert node.shape == (symbol.name, "4")


def test_a_mutated_global_recompiles():
    def f(x):
        return x + SCALE

    with tclab.capture() as c:
        compiled = torch.compile(f, backend="eager")
        compiled(torch.ones(3))
        globals()["SCALE"] = 4
        try:
            compiled(torch.ones(3))
        finally:
            globals()["SCALE"] = 3
    (recompile,) = c.recompiles
    assert "G['SCALE'] == 3" in recompile.reasons[0]


def test_a_module_attribute_is_guarded_through_self():
    net = torch.nn.Linear(4, 4)
    c = tclab.capture(net, backend="eager")(torch.ones(2, 4))
    sources = {g.source for g in c.guards[0]}
    assert any("weight" in source for source in sources)
