"""Attention on a target: the operators that PyTorch's rules choose, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import tclab
from tclab import targets
from tclab.targets import TargetError

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402
from torch.nn.attention.bias import causal_lower_right  # noqa: E402
from torch.nn.functional import scaled_dot_product_attention as attention  # noqa: E402

from tclab.capturing.target.chooser import AttentionChooser  # noqa: E402
from tclab.capturing.target.sdpa import versions  # noqa: E402
from tclab.capturing.target.sdpa.call import Call  # noqa: E402

HALF, FLOAT = torch.float16, torch.float32
CUDNN, FLASH, EFFICIENT = (
    f"_scaled_dot_product_{name}_attention" for name in ("cudnn", "flash", "efficient")
)


def tensors(*shape: int, dtype: Any = HALF, grad: bool = False) -> list[Any]:
    """Query, key and value."""
    return [torch.randn(shape).to(dtype).requires_grad_(grad) for _ in "qkv"]


def called(target: str, function: Callable[..., Any], *args: Any, **options: Any) -> list[str]:
    """Return the attention and matrix products of the output code, in order."""
    backward = options.pop("backward", False)
    capture = tclab.capture(function, target=target, backward=backward, **options)(*args)
    names = r"= torch\.ops\.aten\.(_scaled\w+)\.default\(|extern_kernels\.(bmm)\("
    return [a or b for code in capture.wrapper_code for a, b in re.findall(names, code)]


Case = tuple[str, Callable[..., Any], list[Any], list[str]]

#: What each GPU takes: facts of PyTorch 2.11 to 2.15 alike.
CASES: dict[str, Case] = {
    "Hopper takes cuDNN": ("h200", attention, tensors(2, 4, 128, 64), [CUDNN]),
    "Ampere takes flash": ("a100", attention, tensors(2, 4, 128, 64), [FLASH]),
    "Turing takes memory-efficient": ("t4", attention, tensors(2, 4, 128, 64), [EFFICIENT]),
    "float32": ("h200", attention, tensors(2, 4, 128, 64, dtype=FLOAT), [EFFICIENT]),
    "float64": ("h200", attention, tensors(2, 4, 128, 64, dtype=torch.float64), ["bmm", "bmm"]),
    "a mask on Hopper": (
        "h200",
        attention,
        [*tensors(2, 4, 128, 64), torch.rand(128, 128) > 0.5],
        [CUDNN],
    ),
    "a mask on Ampere": (
        "a100",
        attention,
        [*tensors(2, 4, 77, 64), torch.rand(77, 77) > 0.5],
        [EFFICIENT],
    ),
    "a head size to pad": ("h200", attention, tensors(2, 4, 128, 20), [FLASH]),
    "one query, many keys": (
        "h200",
        attention,
        [torch.randn(2, 4, n, 64).half() for n in (1, 128, 128)],
        [CUDNN],
    ),
    "grouped queries": (
        "h200",
        lambda q, k, v: attention(q, k, v, enable_gqa=True),
        [torch.randn(2, h, 128, 64).half() for h in (8, 2, 2)],
        [CUDNN],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_operator(name: str) -> None:
    target, function, args, operators = CASES[name]
    assert called(target, function, *args) == operators


def test_a_backward_gets_the_backward_of_its_operator() -> None:
    args = tensors(2, 4, 128, 64, grad=True)
    found = called("a100", lambda *a: attention(*a, is_causal=True), *args, backward=True)
    assert found == [FLASH, f"{FLASH}_backward"]


def test_a_symbolic_length_becomes_no_guard_of_its_own() -> None:
    args = tensors(2, 4, 37, 64)
    assert called("h200", attention, *args, dynamic=True) == [CUDNN]


def test_kernels_allowed_inside_the_function() -> None:
    def inside(q: Any, k: Any, v: Any) -> Any:
        with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
            first = attention(q, k, v)
        return first + attention(q, k, v)

    before = torch._C._get_sdp_priority_order(), torch.backends.cuda.flash_sdp_enabled()
    assert called("h200", inside, *tensors(2, 4, 128, 64)) == [EFFICIENT, CUDNN]
    assert before == (torch._C._get_sdp_priority_order(), torch.backends.cuda.flash_sdp_enabled())


def test_kernels_allowed_around_the_function() -> None:
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
        found = called("h200", attention, *tensors(2, 4, 128, 64))
    assert found == [FLASH]


def test_an_order_of_the_users_own() -> None:
    def inside(q: Any, k: Any, v: Any) -> Any:
        with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH], set_priority=True):
            return attention(q, k, v)

    assert called("h200", inside, *tensors(2, 4, 128, 64)) == [FLASH]


def test_what_inductor_fuses_into_attention_is_chosen_too() -> None:
    def written_out(q: Any, k: Any, v: Any) -> Any:
        return torch.softmax(q @ k.transpose(-2, -1) / 8.0, -1) @ v

    assert called("h200", written_out, *tensors(2, 4, 128, 64)) == [CUDNN]


def test_one_target_after_another() -> None:
    args = tensors(2, 4, 128, 64)
    found = [called(target, attention, *args) for target in ("h200", "a100", "h200")]
    assert found == [[CUDNN], [FLASH], [CUDNN]]


def test_the_choice_is_noted_with_its_reasons() -> None:
    def function(q: Any, k: Any, v: Any) -> Any:
        return attention(q, k, v)

    capture = tclab.capture(function, target="a100")(*tensors(2, 4, 128, 64, dtype=FLOAT))
    (decision,) = capture.decisions
    assert decision.operator == "scaled_dot_product_attention"
    assert re.search(r"test_attention\.py:\d+ \(return attention", decision.place)
    assert decision.choice == "efficient (not flash: 16-bit dtypes)"
    source = "by PyTorch's rules, as its source has them, not verified on the device"
    assert decision.source == source


def test_nested_tensors_are_refused() -> None:
    def function(q: Any) -> Any:
        return attention(q, q, q) + 0

    rows = [torch.randn(n, 4, 16).half() for n in (3, 5)]
    q = torch.nested.nested_tensor(rows, layout=torch.jagged).transpose(1, 2)
    with pytest.raises(TargetError, match=r"nested tensors.*not traced"):
        tclab.capture(function, target="h200")(q)


def test_a_causal_bias_asks_the_rules_too() -> None:
    def function(q: Any, k: Any, v: Any) -> Any:
        return attention(q, k, v, attn_mask=causal_lower_right(q.shape[2], k.shape[2]))

    args = [torch.randn(2, 4, n, 64).half() for n in (64, 128, 128)]
    assert called("a100", function, *args) == [FLASH]


def test_where_nothing_is_left_pytorchs_own_error_comes() -> None:
    def function(q: Any, k: Any, v: Any) -> Any:
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            return attention(q, k, v)

    with pytest.raises(Exception, match="No available kernel"):
        tclab.capture(function, target="h200")(*tensors(2, 4, 128, 64, dtype=FLOAT))


def test_a_torch_without_rules_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "VERSIONS", {})
    with pytest.raises(TargetError, match="no rules are known for torch"):
        tclab.capture(attention, target="h200")(*tensors(2, 4, 128, 64))


def test_for_amd_only_pytorchs_own_operators_are_known() -> None:
    rules = versions.rules_for(torch.__version__)
    chooser = AttentionChooser(targets.get("mi300x", unverified=True), rules)
    call = Call(*tensors(2, 4, 128, 64))
    with pytest.raises(TargetError, match=r"the rules for AMD's GPUs .*SDPBackend\.MATH"):
        chooser.choose(call)
    with sdpa_kernel(SDPBackend.MATH):
        assert chooser.choose(call).backend == "math"
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]), pytest.raises(TargetError):
        chooser.choose(call)
