from __future__ import annotations

import pytest
import torch

from tclab.errors import BadRequest, ExplainError
from tclab.explain import inputs
from tclab.explain.inputs import Call, Spec

WRITTEN = [
    ("f32[8,1024]", Spec("", "float32", (8, 1024))),
    (" bf16[ 2, 3, ] ", Spec("", "bfloat16", (2, 3))),
    ("float16[4]", Spec("", "float16", (4,))),
    ("f32[]", Spec("", "float32", ())),
    ("i64[8,16]<1000", Spec("", "int64", (8, 16), 1000)),
    ("mask=b8[8]", Spec("mask", "bool", (8,))),
    ("3", Spec("", value=3)),
    ("'mean'", Spec("", value="mean")),
    ("size=(2, 3)", Spec("size", value=(2, 3))),
    ("None", Spec("", value=None)),
]


@pytest.mark.parametrize(("text", "spec"), WRITTEN, ids=[text for text, _ in WRITTEN])
def test_inputs_are_read(text, spec):
    assert inputs.parse(text) == spec


WRONG = [
    ("f33[8]", "no data type 'f33'", "known: f64"),
    ("f32[8", "neither a tensor nor a Python literal", r"f32\[8,1024\]"),
    ("mean", "neither a tensor nor a Python literal", "Python literal, such as 3"),
    ("f32[8]<3", "a bound is for integers", "dtype"),
    ("i64[8]<0", "a bound is for integers", "dtype"),
    ("f32[8,,2]", "a size is missing", "dtype"),
    ("", "neither", "dtype"),
]


@pytest.mark.parametrize(("text", "cause", "step"), WRONG, ids=[row[0] or "empty" for row in WRONG])
def test_what_is_no_input_says_how_to_write_one(text, cause, step):
    with pytest.raises(BadRequest, match=cause) as raised:
        inputs.parse(text)
    assert raised.match(step)


def test_tensors_are_made_as_written_and_the_same_each_time():
    state = torch.get_rng_state()
    specs = [inputs.parse(t) for t in ("f32[2,3]", "i64[500]<7", "b8[9]", "f8e4m3fn[4]", "k=2")]
    (first,), (second,) = inputs.from_specs(specs, grad=True), inputs.from_specs(specs, grad=True)
    x, i, b, eight = first.args
    assert x.shape == (2, 3) and x.requires_grad and not i.requires_grad
    assert set(i.tolist()) == set(range(7))
    assert b.dtype == torch.bool and eight.dtype == torch.float8_e4m3fn
    assert first.kwargs == {"k": 2}
    assert all(torch.equal(p, q) for p, q in zip(first.args[:3], second.args[:3]))
    assert torch.equal(state, torch.get_rng_state())


def takes(x, mask=None, *, scale=1): ...


def test_inputs_that_do_not_fit_are_named():
    x = torch.ones(2, 3)
    inputs.check_fit(takes, [Call((x,)), Call((x, x), {"scale": 2})], "m.py:takes")
    with pytest.raises(ExplainError) as raised:
        inputs.check_fit(takes, [Call((x,)), Call((x, 1, 2))], "m.py:takes")
    text = str(raised.value)
    assert "call 2 of 2: too many positional arguments" in text
    assert "(x, mask=None, *, scale=1)" in text and "f32[2, 3], 1, 2" in text


def scales(x, *rest, weight=torch.ones(999), mode="up"): ...  # noqa: B008


def test_a_default_is_said_in_few_words():
    text = str(inputs.missing(scales, "m.py:scales", "m.py"))
    assert "it takes (x, *rest, weight=f32[999], mode='up'), and there are no inputs for x" in text


def test_a_function_of_any_arguments_is_asked_for_some():
    text = str(inputs.missing(lambda *rest: ..., "m.py:f", "m.py"))
    assert "no inputs for *rest" in text and "returning (x,)" in text


def test_arguments_in_words():
    call = Call((torch.ones(2, 3), [torch.ones(1).long()], {"a": 1}), {"k": "v"})
    assert inputs.describe(call) == "f32[2, 3], [i64[1]], {'a': 1}, k='v'"
    assert inputs.describe(Call(tuple(range(12)))).endswith("10, 11")
    assert inputs.describe(Call(tuple(range(300)))).endswith("10, 11, and 288 more")


@pytest.mark.parametrize(("text", "largest"), [("i8[999]<128", 127), ("u8[999]<256", 255)])
def test_a_bound_may_be_all_that_the_type_holds(text, largest):
    values = inputs.make(inputs.parse(text))
    assert values.min() >= 0 and values.max() <= largest


def test_the_largest_bound_of_int64():
    assert inputs.make(inputs.parse("i64[99]<9223372036854775808")).min() >= 0
