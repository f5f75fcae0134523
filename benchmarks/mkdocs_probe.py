"""Run MkDocs in this process and report its memory: ``mkdocs_probe.py REPORT build …``.

REPORT receives JSON: the peak resident MiB of this process alone, and whether torch was
imported into it.
"""

from __future__ import annotations

import atexit
import json
import resource
import sys
from pathlib import Path


def tell(report: Path) -> None:
    """Write the memory of this process."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    mib = peak / (1024 if sys.platform == "linux" else 1024 * 1024)
    report.write_text(json.dumps({"peak": round(mib, 1), "torch": "torch" in sys.modules}))


if __name__ == "__main__":
    from mkdocs.__main__ import cli

    atexit.register(tell, Path(sys.argv[1]).resolve())
    cli(sys.argv[2:], prog_name="mkdocs")
