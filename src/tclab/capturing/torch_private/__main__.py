"""Print the private names that this PyTorch lacks: ``python -m tclab.capturing.torch_private``."""

from __future__ import annotations

from tclab.capturing.torch_private import check

if __name__ == "__main__":
    print(*check.check(), *check.check_targets(), sep="\n")
