"""Compute the least cost of one call of a compiled function from its launches, bytes and
operations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tclab.model.codec import kind

#: What can bound a call → the words for it.
BOUNDS = {"launches": "launch bound", "memory": "memory bound", "products": "product bound"}


@kind("call-cost")
@dataclass(frozen=True)
class CallCost:
    """The least seconds that one call takes on a device: `launches` on the host, `memory` to move
    the bytes of all kernels at the device's bandwidth, and `products` to compute all products at
    the device's rate. `bound` is the key of BOUNDS for the part that is likely to take longest;
    `second_bound` is the key of another part that takes nearly as long, or ''. `tf32` are the
    seconds of the products if float32 products used TF32. It is None if there are no float32
    products, or if these already use TF32. `narrow` are the seconds of the products if operands
    that were converted to float32 stayed in their dtype of fewer bits. It is None if there are no
    such operands. `kernels` counts the launches of generated kernels, and `library_calls` counts
    all other launches. `unknown` counts the rows whose bytes or operations are not known, and
    `refused` the parts of the call whose kernels are not known; if there are any, the sums are too
    low.
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
    narrow: float | None = None
    refused: int = 0

    @property
    def seconds(self) -> float:
        """The least seconds of a call if launching and computing overlap."""
        return max(self.launches, self.memory + self.products)
