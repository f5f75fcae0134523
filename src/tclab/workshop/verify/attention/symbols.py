"""Compare PyTorch's and the rules' answers for calls with symbolic sizes, and the guards that they
add.

A call is written as ``f16 b=4 s=37 u=? q:b,8,s,64 k:b,8,s,64 mask:1,1,s,s causal``: symbols with
their hint (``?`` for no hint), sizes, and flags. Without ``v:`` the value has the sizes of the key.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from tclab.capturing.target.sdpa import torch_answers
from tclab.capturing.target.sdpa.call import Call, Machine
from tclab.capturing.target.sdpa.choose import choose
from tclab.capturing.target.sdpa.rule import AttentionRules
from tclab.workshop.verify.attention.cases import DTYPES
from tclab.workshop.verify.attention.report import AnswerPair

CALLS = """
f16 b=4 s=37 q:b,8,s,64 k:b,8,s,64
f16 b=4 s=37 q:b,8,s,64 k:b,8,s,64 causal
f32 b=4 s=37 q:b,8,s,64 k:b,8,s,64
f32 b=4 s=37 q:b,8,s,64 k:b,8,s,64 grad
f16 b=4 s=37 t=64 q:b,8,s,64 k:b,8,t,64 causal
f32 b=4 s=37 t=64 q:b,8,s,64 k:b,8,t,64 mask:b,1,s,t
f16 b=4 s=37 t=64 q:b,8,s,64 k:b,8,t,64 mask:b,1,s,t
f16 b=4 s=37 t=64 q:b,8,s,64 k:b,8,t,64 mask:1,1,s,t
f16 b=4 s=37 t=64 x=37 q:b,8,s,64 k:b,8,t,64 mask:1,1,x,t
f16 b=4 s=37 t=64 x=64 q:b,8,s,64 k:b,8,t,64 mask:s,x
f16 h=8 g=2 q:2,h,128,64 k:2,g,128,64 gqa
f32 h=8 g=2 q:2,h,128,64 k:2,g,128,64 gqa
f16 h=8 g=2 q:2,h,128,64 k:2,g,128,64
f16 h=8 g=4 w=2 q:2,h,128,64 k:2,g,128,64 v:2,w,128,64 gqa
f16 d=64 q:2,8,128,d k:2,8,128,d
f16 d=64 e=64 q:2,8,128,d k:2,8,128,d v:2,8,128,e
f32 d=64 q:2,8,128,d k:2,8,128,d
f32 d=20 q:2,8,128,d k:2,8,128,d
f16 d=200 q:2,8,128,d k:2,8,128,d grad
f16 d=240 q:2,8,128,d k:2,8,128,d grad
f16 d=192 e=128 q:2,8,128,d k:2,8,128,d v:2,8,128,e grad
f16 u=? q:2,8,u,64 k:2,8,u,64
f16 u=? q:u,8,16,64 k:u,8,16,64
f32 u=? q:u,8,16,64 k:u,8,16,64
f32 u=? q:2,8,u,64 k:2,8,u,64
f16 u=? q:2,8,16,64 k:2,8,u,64 mask:2,1,16,u
f16 u=? q:2,8,16,64 k:2,8,u,64 causal
f16 u=? q:2,8,16,u k:2,8,16,u
f16 u=? w=? q:u,8,16,64 k:w,8,16,64
f16 u=? q:2,u,16,64 k:2,u,16,64 gqa
f16 u=? q:2,u,16,64 k:2,2,16,64 gqa
f16 b=4 s=37 q:8,s,64 k:8,s,64
"""


@dataclass(frozen=True)
class SymbolicCall:
    """One call with symbolic sizes."""

    text: str
    dtype: torch.dtype
    symbols: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, str] = field(default_factory=dict)
    flags: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return self.text

    def make_call(self, environment: ShapeEnv) -> Call:
        """Return the call with fake GPU tensors and new symbols."""
        symbols = {
            name: torch_answers.make_size(environment, name, None if hint == "?" else int(hint))
            for name, hint in self.symbols.items()
        }
        sizes = {"v": self.sizes["k"], **self.sizes}
        tensors = {name: self._make_tensor(name, text, symbols) for name, text in sizes.items()}
        return Call(
            tensors["q"],
            tensors["k"],
            tensors["v"],
            tensors.get("mask"),
            causal="causal" in self.flags,
            gqa="gqa" in self.flags,
        )

    def _make_tensor(self, name: str, sizes: str, symbols: dict[str, Any]) -> torch.Tensor:
        shape = [symbols[size] if size in symbols else int(size) for size in sizes.split(",")]
        dtype = torch.bool if name == "mask" else self.dtype
        tensor = torch.empty(shape, device="cuda", dtype=dtype)
        return tensor.requires_grad_("grad" in self.flags and name != "mask")


def parse(line: str) -> SymbolicCall:
    """Parse a line of `CALLS`."""
    first, *words = line.split()
    symbols = dict(word.split("=") for word in words if "=" in word)
    sizes = dict(word.split(":") for word in words if ":" in word)
    flags = frozenset(word for word in words if word.isalpha())
    return SymbolicCall(line, DTYPES[first], symbols, sizes, flags)


def compare_symbolic_calls(
    capability: tuple[int, int], version: AttentionRules
) -> list[AnswerPair]:
    """Return PyTorch's answer and the rules' answer for each call, as ``backend[guards]`` or the
    text of the error.
    """
    here = Machine(capability, torch_answers.cudnn_version())
    calls = [parse(line) for line in CALLS.strip().splitlines()]
    return [
        AnswerPair(
            _answer_text(torch_answers.ask_cuda_choice, call),
            _answer_text(lambda c: choose(c, here, version).backend, call),
            call,
        )
        for call in calls
    ]


def _answer_text(ask: Callable[[Call], str], symbolic: SymbolicCall) -> str:
    environment = ShapeEnv(duck_shape=False)
    with torch_answers.fake_mode(environment):
        call = symbolic.make_call(environment)
        try:
            backend = ask(call)
        except Exception as error:
            backend = type(error).__name__
    return f"{backend}[{'; '.join(str(guard.expr) for guard in environment.guards)}]"
