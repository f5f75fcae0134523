"""Make calls of scaled_dot_product_attention: all usual calls, and a random sample of others.

A case is written as a few short values, so a readable file can hold thousands.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import torch

from tclab.capturing.target.sdpa.call import BACKENDS, Call, Machine

DTYPES = {
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
    "f8": torch.float8_e4m3fn,
}
FUSED = ("flash", "efficient", "cudnn")


@dataclass(frozen=True)
class Case:
    """One call of attention: batch, numbers of heads, sequence lengths, head sizes, and options.

    `backends` are the allowed backends, joined by ``+``. If it begins with ``>``, the backends are
    in the user's order. '' allows all backends.
    """

    dtype: str = "f16"
    batch: int = 2
    heads: int = 8
    key_heads: int = 8
    value_heads: int = 8
    queries: int = 128
    keys: int = 128
    size: int = 64
    value_size: int = 64
    layout: str = "bhsd"
    mask: str = ""
    causal: bool = False
    dropout: float = 0.0
    gqa: bool = False
    grad: str = ""
    backends: str = ""
    deterministic: bool = False
    offset: int = 0

    def __str__(self) -> str:
        """Return the dtype and the fields that differ from their defaults, as ``name=value``."""
        own = ((f.name, getattr(self, f.name)) for f in fields(self) if f.name != "dtype")
        usual = {f.name: f.default for f in fields(self)}
        return " ".join([self.dtype, *(f"{k}={v}" for k, v in own if v != usual[k])])

    @property
    def enabled(self) -> frozenset[str]:
        """The backends that are not switched off."""
        return frozenset(self.backends.lstrip(">").split("+")) if self.backends else ALL

    @property
    def order(self) -> tuple[str, ...]:
        """The user's order of backends; () for PyTorch's own."""
        if not self.backends.startswith(">"):
            return ()
        return tuple(self.backends[1:].split("+"))

    def machine(self, capability: tuple[int, int], cudnn: int) -> Machine:
        """Return a machine with the case's switches.

        The backends that are missing in the user's order are appended, as
        ``sdpa_kernel(set_priority=True)`` does.
        """
        others = (name for name in BACKENDS if name not in self.order)
        order = (*self.order, *others) if self.order else ()
        return Machine(capability, cudnn, self.enabled, order, self.deterministic)

    def call(self, device: str) -> Call:
        """Return the call with uninitialized tensors on the device."""
        sides = (
            (self.heads, self.queries, self.size, "q"),
            (self.key_heads, self.keys, self.size, "k"),
            (self.value_heads, self.keys, self.value_size, "v"),
        )
        query, key, value = (self._make_tensor(*side, device) for side in sides)
        return Call(query, key, value, self._make_mask(device), self.dropout, self.causal, self.gqa)

    def _make_tensor(
        self, heads: int, length: int, size: int, name: str, device: str
    ) -> torch.Tensor:
        shape = (self.batch, heads, length, size)
        tensor = LAYOUTS[self.layout](shape, self.offset, self._make_options(device))
        return tensor.requires_grad_(name in self.grad)

    def _make_mask(self, device: str) -> torch.Tensor | None:
        if not self.mask:
            return None
        kind, _, form = self.mask.partition(":")
        b, h, q, k = self.batch, self.heads, self.queries, self.keys
        shape = {"full": (b, h, q, k), "2d": (q, k), "one": (1, 1, q, k), "keys": (b, 1, 1, k),
                 "row": (1, k), "column": (q, 1), "wide": (q, 1), "3d": (b, q, k),
                 "head": (1, h, q, k)}[form]  # fmt: skip
        dtype = torch.bool if kind == "bool" else DTYPES[self.dtype]
        mask = torch.empty(shape, dtype=dtype, device=device)
        if form == "wide":
            mask = mask.expand(q, k)
        return mask.requires_grad_("m" in self.grad and kind == "float")

    def _make_options(self, device: str) -> dict[str, Any]:
        return {"dtype": DTYPES[self.dtype], "device": device}

    @contextmanager
    def switches(self) -> Iterator[None]:
        """Set PyTorch's switches as the case requires, until the block ends."""
        from torch.nn.attention import SDPBackend, sdpa_kernel

        kernels = {"flash": SDPBackend.FLASH_ATTENTION, "efficient": SDPBackend.EFFICIENT_ATTENTION,
                   "cudnn": SDPBackend.CUDNN_ATTENTION, "math": SDPBackend.MATH}  # fmt: skip
        with ExitStack() as stack:
            stack.enter_context(torch.set_grad_enabled("-" not in self.grad))
            if self.backends:
                names = self.order or tuple(n for n in BACKENDS if n in self.enabled)
                wanted = [kernels[name] for name in names]
                stack.enter_context(sdpa_kernel(wanted, set_priority=bool(self.order)))
            if self.deterministic:
                torch.use_deterministic_algorithms(True)
                stack.callback(torch.use_deterministic_algorithms, False)
            yield


ALL = frozenset(BACKENDS)


def parse(text: str) -> Case:
    """Parse a case that `str` wrote."""
    dtype, *words = text.split(" ")
    usual = asdict(Case())
    own: dict[str, Any] = {}
    for name, _, value in (word.partition("=") for word in words):
        kind = type(usual[name])
        own[name] = value == "True" if kind is bool else kind(value)
    return Case(dtype, **own)


# ------------------------------------------------------------------------------ layouts

Shape = tuple[int, int, int, int]
Layout = Callable[[Shape, int, dict[str, Any]], torch.Tensor]


def _make_contiguous(shape: Shape, offset: int, options: dict[str, Any]) -> torch.Tensor:
    count = shape[0] * shape[1] * shape[2] * shape[3]
    return torch.empty(count + offset, **options)[offset:].view(shape)


def _make_bshd(shape: Shape, offset: int, options: dict[str, Any]) -> torch.Tensor:
    b, h, s, d = shape
    return _make_contiguous((b, s, h, d), offset, options).transpose(1, 2)


def _make_packed(shape: Shape, offset: int, options: dict[str, Any]) -> torch.Tensor:
    b, h, s, d = shape
    return torch.empty(b, s, 3, h, d, **options)[:, :, offset % 3].transpose(1, 2)


def _make_gaps(shape: Shape, offset: int, options: dict[str, Any]) -> torch.Tensor:
    b, h, s, d = shape
    return torch.empty(b, h, s, 2 * d, **options)[..., ::2]


def _make_turned(shape: Shape, offset: int, options: dict[str, Any]) -> torch.Tensor:
    b, h, s, d = shape
    return torch.empty(b, h, d, s, **options).transpose(2, 3)


def _make_sliced(shape: Shape, offset: int, options: dict[str, Any]) -> torch.Tensor:
    b, h, s, d = shape
    return torch.empty(b, h, s, d + 3, **options)[..., offset % 3 : offset % 3 + d]


def _make_expanded(shape: Shape, offset: int, options: dict[str, Any]) -> torch.Tensor:
    b, h, s, d = shape
    return torch.empty(b, 1, s, d, **options).expand(b, h, s, d)


def _make_unbatched(shape: Shape, offset: int, options: dict[str, Any]) -> torch.Tensor:
    return _make_contiguous((1, *shape[1:]), offset, options)[0]


def _make_five_dimensional(shape: Shape, offset: int, options: dict[str, Any]) -> torch.Tensor:
    return _make_contiguous(shape, offset, options)[None]


LAYOUTS: dict[str, Layout] = {
    "bhsd": _make_contiguous,
    "bshd": _make_bshd,
    "packed": _make_packed,
    "gaps": _make_gaps,
    "turned": _make_turned,
    "sliced": _make_sliced,
    "expanded": _make_expanded,
    "3d": _make_unbatched,
    "5d": _make_five_dimensional,
}

# ------------------------------------------------------------------------------ all cases

SIZES = (7, 8, 16, 20, 24, 32, 40, 48, 64, 72, 80, 96, 100, 112, 128, 136, 160, 192, 200, 224,
         240, 256, 264, 512)  # fmt: skip
LENGTHS = ((128, 128), (1, 128), (128, 1), (64, 192), (77, 77))


def make_cases(random_count: int = 4000) -> list[Case]:
    """Return the usual calls, then `random_count` random calls, without repeats. The result is
    always the same.
    """
    rng = random.Random(20261121)
    draws = (_draw_case(rng) for _ in range(random_count))
    return list(dict.fromkeys(itertools.chain(_usual_cases(), draws)))


def _usual_cases() -> Iterator[Case]:
    """Yield the calls that models make."""
    for dtype, size, (queries, keys) in itertools.product(("f16", "bf16", "f32"), SIZES, LENGTHS):
        usual = Case(dtype, size=size, value_size=size, queries=queries, keys=keys)
        yield usual
        yield replace(usual, causal=True)
        yield replace(usual, mask="bool:one")
        yield replace(usual, grad="qkv")
        yield replace(usual, layout="bshd", causal=True, grad="qkv")


def _draw_case(rng: random.Random) -> Case:
    """Return a usual call with one to four random changes."""
    size = rng.choice(SIZES)
    case = Case(rng.choice(("f16", "bf16", "f32")), size=size, value_size=size)
    for change in rng.sample(CHANGES, rng.choice((1, 2, 2, 3, 3, 4))):
        case = replace(case, **change(rng.choice, case))
    return case


Pick = Callable[[Any], Any]
MakeChange = Callable[[Pick, Case], dict[str, Any]]


def _change_heads(pick: Pick, case: Case) -> dict[str, Any]:
    """Change the heads to grouped, multi-query or invalid numbers, with or without the flag."""
    keys = pick((1, 2, 3, 4, 8))
    values = pick((keys, keys, keys, 1, 2, 4, 8))
    return {"key_heads": keys, "value_heads": values, "gqa": pick((True, True, False))}


def _change_lengths(pick: Pick, case: Case) -> dict[str, Any]:
    queries = pick((0, 1, 2, 16, 63, 64, 77, 192, 320, 1024))
    return {"queries": queries, "keys": pick((queries, 0, 1, 2, 64, 77, 128, 192, 448, 1024))}


def _change_to_many(pick: Pick, case: Case) -> dict[str, Any]:
    """Change the batch or the heads to about the limit of 65535, with short sequences so that the
    call fits into memory.
    """
    sizes = {"queries": pick((1, 2)), "keys": 2, "size": 8, "value_size": 8}
    if pick((True, False)):
        return {"batch": pick((65535, 65536)), "heads": 1, "key_heads": 1, "value_heads": 1} | sizes
    heads = pick((65535, 65536))
    return {"batch": 1, "heads": heads, "key_heads": heads, "value_heads": heads} | sizes


def _change_mask(pick: Pick, case: Case) -> dict[str, Any]:
    form = pick(("full", "2d", "one", "keys", "row", "column", "wide", "3d", "head"))
    return {"mask": f"{pick(('bool', 'float'))}:{form}", "causal": False}


def _backend_choices() -> Iterator[str]:
    """Yield values of `backends` with some backends switched off, or with the user's order."""
    for count in (1, 2, 3):
        yield from ("+".join((*names, "math")) for names in itertools.combinations(FUSED, count))
    yield from FUSED
    yield from (">" + "+".join(names) for names in itertools.permutations((*FUSED, "math")))


ALLOWED: tuple[str, ...] = tuple(_backend_choices())


CHANGES: tuple[MakeChange, ...] = (
    _change_heads,
    _change_lengths,
    _change_to_many,
    _change_mask,
    lambda pick, case: {"dtype": pick(("f64", "f8"))},
    lambda pick, case: {"batch": pick((1, 3))},
    lambda pick, case: {"value_size": pick((8, 32, 64, 100, 128, 192, 256))},
    lambda pick, case: {"size": 192, "value_size": 128},
    lambda pick, case: {"layout": pick(tuple(LAYOUTS)), "offset": pick((0, 1, 2))},
    lambda pick, case: {"causal": not case.mask},
    lambda pick, case: {"dropout": pick((0.0625, 0.1, 0.125, 0.5))},
    lambda pick, case: {"grad": pick(("qkv", "qkv", "q", "v", "qkv-", "qkvm", "m"))},
    lambda pick, case: {"backends": pick(ALLOWED)},
    lambda pick, case: {"deterministic": True},
    lambda pick, case: {"offset": pick((1, 2, 4, 8))},
)
