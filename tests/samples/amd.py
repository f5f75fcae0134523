"""Write a sample of AMDGCN: ``PYTHONPATH=src python -m tests.samples.amd FOLDER``.

It needs a process of its own, because Inductor asks for HIP when it is imported.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path


def main() -> None:
    """Compile the product of functions.py for an MI300X; write what Triton prints of it."""
    from tclab import targets
    from tclab.explain import hip

    target = targets.get("mi300x", unverified=True)
    hip.prepare_process(target)
    import torch

    import tclab
    from tclab.text.scrub import scrub
    from tests.samples import make

    os.environ["TORCHINDUCTOR_CACHE_DIR"] = make.CACHE
    shutil.rmtree(make.CACHE, ignore_errors=True)
    fn = make.functions()
    product = tclab.capture(fn.product, target=target)(torch.randn(64, 16), torch.randn(16, 64))
    assembly = make._compiled(product, "triton_").asm["amdgcn"]
    instructions, section, rest = assembly.partition("\t.section\t")
    facts = "".join(line for line in rest.splitlines(keepends=True) if line.startswith("; "))
    make.save(Path(sys.argv[1]) / "product.amdgcn", scrub(instructions + section + facts))


if __name__ == "__main__":
    main()
