"""Time on the GPU that is here what Inductor times to choose a padding, product by product.

``python -m tclab.verify.choices OUT`` has PyTorch time the products that a comparison's target side
asked for, and keep the answers in Inductor's own cache: one at a time, as in a program that has the
GPU to itself. Of many compiles that share a GPU each times the others, too.
"""

from __future__ import annotations

import ast
import json
import re
import statistics
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tclab.store import checksums
from tclab.verify.results import environment

if TYPE_CHECKING:
    from tclab.capturing.torch_private.padding import Timing

# (torch.Size([8, 64]), (64, 1), torch.float32)
_SIZE, _DTYPE = re.compile(r"torch\.Size\((\[.*?\])\)"), re.compile(r"torch\.(\w+)")
# <OpOverloadPacket(op='aten.addmm')>
_OPERATOR = re.compile(r"<OpOverloadPacket\(op='aten\.(\w+)'\)>")

#: Shape, strides and type of a tensor.
Layout = tuple[list[int], tuple[int, ...], str]


@dataclass(frozen=True)
class Product:
    """What one of Inductor's keys says of a product: its factors, whether the padding of either is
    not timed, since memory can be planned for it, the operator, and what is added.
    """

    factors: tuple[Layout, Layout]
    planned: Mapping[str, bool]
    operator: str
    added: Layout | None

    @classmethod
    def of(cls, key: str) -> Product:
        """The product of a key. ValueError where a size is a symbol."""
        plain = _DTYPE.sub(r"'\1'", _SIZE.sub(r"\1", _OPERATOR.sub(r"'\1'", key)))
        try:
            one, two, plan_one, plan_two, operator, added, _ = ast.literal_eval(plain)
        except (SyntaxError, ValueError) as error:
            raise ValueError(f"no sizes in {key}") from error
        planned = {"mat1": plan_one.endswith("True"), "mat2": plan_two.endswith("True")}
        return cls((one, two), planned, operator, added)

    def ask(self) -> None:
        """Let PyTorch's rule decide, which times the product unless it has the answer."""
        from tclab.capturing.torch_private import padding

        one, two = map(_tensor, self.factors)
        added = None if self.added is None else _tensor(self.added)
        padding.ask(self.operator, (one, two), added, self.planned)


def _tensor(layout: Layout) -> Any:
    import torch

    shape, strides, dtype = layout
    size = 1 + sum((n - 1) * stride for n, stride in zip(shape, strides))
    flat = torch.randn(size, dtype=getattr(torch, dtype), device="cuda")
    return flat.as_strided(shape, strides)


def keys(folder: Path) -> list[str]:
    """Inductor's keys of the products that the target sides in a comparison's folder asked for."""
    sides = (json.loads(path.read_text()) for path in sorted((folder / "target").glob("*.json")))
    return sorted({key for side in sides for key in side.get("products", ())})


def products(of: Iterable[str]) -> dict[str, Product]:
    """The products of keys that have sizes in numbers."""
    found: dict[str, Product] = {}
    for key in of:
        try:
            found[key] = Product.of(key)
        except ValueError:
            continue
    return found


# ------------------------------------------------------------------------------ recording


def timed(of: Mapping[str, Product], repeats: int) -> dict[str, list[Timing]]:
    """Each product timed so many times, all of them once before any is timed again."""
    from tclab.capturing.torch_private import padding

    timings: dict[str, list[Timing]] = {key: [] for key in of}
    for _ in range(repeats):
        for key, product in of.items():
            with padding.timings() as noted:
                product.ask()
            timings[key] += noted
    return timings


def record(of: Sequence[str], out: Path, repeats: int) -> dict[str, Any]:
    """Time the products of these keys and write what a target reads; what was written."""
    import datetime as dt

    start = time.perf_counter()
    timings = timed(products(of), repeats)
    head = {
        "environment": environment(),
        "recorded": dt.datetime.now(dt.timezone.utc).date().isoformat(),
        "repeats": repeats,
        "seconds": round(time.perf_counter() - start, 1),
    }
    rows = [_row(key, pairs) for key, pairs in timings.items() if pairs]
    lines = ",\n".join(map(json.dumps, rows))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(f'{json.dumps(head)[:-1]}, "products": [\n{lines}\n]}}\n', encoding="utf-8")
    checksums.write(out)
    return {**head, "products": rows}


def _row(key: str, pairs: Sequence[Timing]) -> dict[str, Any]:
    """A product: how often as long as padded it took unpadded, and its microseconds."""
    ratios = [plain / padded for plain, padded in pairs]
    plain, padded = (statistics.median(times) * 1000 for times in zip(*pairs))
    spread = [round(n, 4) for n in (min(ratios), statistics.median(ratios), max(ratios))]
    return {"key": key, "ratio": spread, "microseconds": [round(plain, 2), round(padded, 2)]}


def main(folder: Path) -> None:
    """Let PyTorch decide each product of a comparison, and keep the answers where it keeps them."""
    for product in products(keys(folder)).values():
        product.ask()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
