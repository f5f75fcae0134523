"""Let PyTorch time on this GPU whether to pad a matrix product, one product at a time.

``python -m tclab.workshop.verify.choices OUT`` reads from the folder OUT which products had to be
timed when a comparison compiled for a target, and makes PyTorch time them; Inductor's own cache
keeps the answers. The products are timed one at a time, as in a program that has the GPU to itself,
because compiles that share a GPU would disturb each other's timings.
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

from tclab.site.store import checksums
from tclab.workshop.verify.results import describe_environment

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
    """A matrix product, as described by one of Inductor's cache keys.

    `planned` says for each factor whether padding it costs nothing, because memory planning can
    allocate it padded; `added` is the layout of the summand of ``addmm``.
    """

    factors: tuple[Layout, Layout]
    planned: Mapping[str, bool]
    operator: str
    added: Layout | None

    @classmethod
    def parse(cls, key: str) -> Product:
        """Parse a key. Raises ValueError if a size is a symbol."""
        plain = _DTYPE.sub(r"'\1'", _SIZE.sub(r"\1", _OPERATOR.sub(r"'\1'", key)))
        try:
            one, two, plan_one, plan_two, operator, added, _ = ast.literal_eval(plain)
        except (SyntaxError, ValueError) as error:
            raise ValueError(f"no sizes in {key}") from error
        planned = {"mat1": plan_one.endswith("True"), "mat2": plan_two.endswith("True")}
        return cls((one, two), planned, operator, added)

    def decide(self) -> None:
        """Let PyTorch decide whether to pad; PyTorch times the product unless it has the answer."""
        from tclab.capturing.torch_private import padding

        one, two = map(_make_tensor, self.factors)
        added = None if self.added is None else _make_tensor(self.added)
        padding.decide_padding(self.operator, (one, two), added, self.planned)


def _make_tensor(layout: Layout) -> Any:
    import torch

    shape, strides, dtype = layout
    size = 1 + sum((n - 1) * stride for n, stride in zip(shape, strides))
    flat = torch.randn(size, dtype=getattr(torch, dtype), device="cuda")
    return flat.as_strided(shape, strides)


def read_keys(folder: Path) -> list[str]:
    """Return Inductor's keys of the products to time for the targets of a comparison."""
    sides = (json.loads(path.read_text()) for path in sorted((folder / "target").glob("*.json")))
    return sorted({key for side in sides for key in side.get("products", ())})


def parse_products(keys: Iterable[str]) -> dict[str, Product]:
    """Map keys to products, without the keys that have symbols as sizes."""
    found: dict[str, Product] = {}
    for key in keys:
        try:
            found[key] = Product.parse(key)
        except ValueError:
            continue
    return found


# ------------------------------------------------------------------------------ recording


def time_repeatedly(products: Mapping[str, Product], repeats: int) -> dict[str, list[Timing]]:
    """Time all products `repeats` times, in rounds; return the timings by key."""
    from tclab.capturing.torch_private import padding

    timings: dict[str, list[Timing]] = {key: [] for key in products}
    for _ in range(repeats):
        for key, product in products.items():
            with padding.collect_timings() as collected:
                product.decide()
            timings[key] += collected
    return timings


def record(keys: Sequence[str], out: Path, repeats: int) -> dict[str, Any]:
    """Time the products of these keys; write the file that a target reads, and return its data."""
    import datetime as dt

    start = time.perf_counter()
    timings = time_repeatedly(parse_products(keys), repeats)
    head = {
        "environment": describe_environment(),
        "recorded": dt.datetime.now(dt.timezone.utc).date().isoformat(),
        "repeats": repeats,
        "seconds": round(time.perf_counter() - start, 1),
    }
    rows = [_make_row(key, pairs) for key, pairs in timings.items() if pairs]
    lines = ",\n".join(map(json.dumps, rows))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(f'{json.dumps(head)[:-1]}, "products": [\n{lines}\n]}}\n', encoding="utf-8")
    checksums.write(out)
    return {**head, "products": rows}


def _make_row(key: str, pairs: Sequence[Timing]) -> dict[str, Any]:
    """Return a product's row: its time without padding divided by its time with padding (min,
    median, max), and both median times in µs.
    """
    ratios = [plain / padded for plain, padded in pairs]
    plain, padded = (statistics.median(times) * 1000 for times in zip(*pairs))
    spread = [round(n, 4) for n in (min(ratios), statistics.median(ratios), max(ratios))]
    return {"key": key, "ratio": spread, "microseconds": [round(plain, 2), round(padded, 2)]}


def main(folder: Path) -> None:
    """Let PyTorch choose the padding of each matrix product. PyTorch's cache keeps the choices."""
    for product in parse_products(read_keys(folder)).values():
        product.decide()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
