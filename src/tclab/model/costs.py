"""What one call of a compiled function costs at least: launches, bytes, operations of products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tclab.model.codec import kind

#: What can bound a call, and the words for it.
BOUNDS = {"launches": "launch bound", "memory": "memory bound", "products": "product bound"}


@kind("call-cost")
@dataclass(frozen=True)
class CallCost:
    """The least that one call costs on a device, in seconds: for its `launches` on the host, for
    the bytes of all kernels at the device's bandwidth, and for the products' operations at its
    rate. `bound` is the key of BOUNDS that is likely to take longest, `second_bound` another that
    comes near to it, or ''. `tf32` are the seconds of the products if those of float32 used TF32;
    None if there are no such products, or if they already use TF32. `kernels` counts launches of
    generated kernels, `library_calls` the rest; `unknown` counts rows whose bytes or operations are
    not known: then the sums are too low.
    """

    kind: ClassVar[str]
    device: str
    kernels: int
    library_calls: int
    launches: float
    memory: float
    products: float
    bound: str
    second_bound: str = ""
    tf32: float | None = None
    unknown: int = 0

    @property
    def seconds(self) -> float:
        """The least seconds of a call, in which launching and computing overlap."""
        return max(self.launches, self.memory + self.products)
