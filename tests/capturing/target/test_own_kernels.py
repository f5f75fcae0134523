"""Triton code of the user's own and FlexAttention, for a target, down to SASS."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import tclab
from tclab.errors import CaptureError
from tclab.targets import TargetError


def inputs(queries: int = 256, size: int = 64) -> tuple[torch.Tensor, ...]:
    key, value = torch.randn(2, 1, 2, 256, size, dtype=torch.float16)
    return torch.randn(1, 2, queries, size, dtype=torch.float16), key, value


def template(capture: Any) -> str:
    """Return the code of the one kernel that a template wrote."""
    (kernel,) = [k for k in capture.kernels if k.category == "template"]
    return str(kernel.code)


def pieces(capture: Any) -> tuple[str, ...]:
    found = [re.search(rf"BLOCK_{x} : tl.constexpr = (\d+)", template(capture)) for x in "MN"]
    return tuple(match[1] for match in found if match)


@pytest.mark.parametrize("name", ["operator", "tuned_operator"])
def test_a_kernel_behind_an_operator_goes_down_to_sass(user_kernel: Any, name: str) -> None:
    operator = getattr(user_kernel, name)
    pair = torch.randn(1000), torch.randn(1000)
    c = tclab.capture(lambda x, y: operator(x, y).relu() * 2, target="h200")(*pair)
    mine, theirs = c.compile_kernels()
    assert mine.name == {"operator": "add_kernel", "tuned_operator": "tuned_kernel"}[name]
    assert len(mine.candidates) == (2 if name == "tuned_operator" else 1)
    assert theirs.name == "triton_poi_fused_mul_relu_0"
    assert "STG" in mine.stages["sass"].code and c.gaps == ()
    with pytest.raises(CaptureError, match="calls a kernel that only"):
        _ = c.result


def test_a_launch_outside_of_a_graph_is_named(user_kernel: Any) -> None:
    @torch._dynamo.disable
    def between(x: torch.Tensor) -> torch.Tensor:
        return user_kernel.add(x, x)

    with pytest.raises(TargetError, match="wants the GPU itself"):
        tclab.capture(lambda x: between(x + 1) * 2, target="h200")(torch.randn(64))


def test_flex_attention_with_a_score_follows_the_table_of_the_device() -> None:
    def scored(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s - (i - j).abs() * 0.25)

    args = inputs()
    captures = {t: tclab.capture(scored, target=t)(*args) for t in ("h200", "a100")}
    assert {t: pieces(c) for t, c in captures.items()} == {
        "h200": ("128", "128"), "a100": ("128", "64"),
    }  # fmt: skip
    c = captures["h200"]
    assert "0.25" in template(c) and c.timed == c.gaps == ()
    assert all("sass" in kernel.stages for kernel in c.compile_kernels())
    assert torch.allclose(c.result, scored(*args))
    assert all(template(c) in code for code in c.wrapper_code) and len(c.wrapper_code) == 1


def test_flex_attention_with_a_block_mask_and_its_gradient() -> None:
    mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, 256, 256, device="cpu")
    args = [x.requires_grad_() for x in inputs()]
    attention = lambda q, k, v: flex_attention(q, k, v, block_mask=mask)  # noqa: E731
    c = tclab.capture(attention, target="h200", backward=True)(*args)
    names = [k.kernel_name for k in c.kernels if k.category == "template"]
    assert len(names) == 2 and "backward" in names[1]


def test_few_queries_take_the_kernel_for_decoding() -> None:
    c = tclab.capture(flex_attention, target="h200")(*inputs(queries=16))
    assert "SPLIT_KV" in template(c)


def test_a_kernel_in_text_for_the_jiterator_is_refused_by_name() -> None:
    double = torch.cuda.jiterator._create_jit_fn(
        "template <typename T> T double_it(T x) { return x + x; }"
    )

    def doubled(x: torch.Tensor) -> Any:
        return double(x)

    with pytest.raises(TargetError, match=r"torch\.cuda\.jiterator"):
        tclab.capture(doubled, target="h200")(torch.randn(8))
