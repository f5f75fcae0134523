"""Ways to serve on a machine without a C++ compiler, each tried in a process that finds none.

Two new processes run one program. The first has a compiler, and makes what can be made before: a
cache folder, a package of AOTInductor, a compiled function as a file. The second has an empty
`PATH`.
"""
# tclab: needs=cxx timeout=180

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import _ways

import tclab


def printed(folder, *arguments, **variables):
    """What the program prints in a process of its own."""
    kept = {name: text for name, text in os.environ.items() if name not in REMOVED}
    command = [sys.executable, _ways.__file__, *arguments]
    done = subprocess.run(command, env=kept | variables, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


#: Not inherited: the compiler's name, and what switches the graph caches off where this file runs.
REMOVED = ("CXX", "TORCHINDUCTOR_FX_GRAPH_CACHE", "TORCHINDUCTOR_AUTOGRAD_CACHE",
           "TORCHINDUCTOR_FORCE_DISABLE_CACHES")  # fmt: skip
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    (folder / "empty").mkdir()
    printed(folder, "make")
    found = json.loads(printed(folder, PATH=str(folder / "empty")))

columns = ("way", "where no compiler is found")
tclab.show(tclab.Table("Where no compiler is found", "ways", columns, [*found.items()]))
# claim: a-filled-folder-does-not-help
assert found["a cache folder that was filled"] == "InvalidCxxCompiler"
# claim: nor-does-a-function-compiled-ahead
assert found["a function compiled ahead, as a file"] == "InvalidCxxCompiler"
# claim: a-package-needs-none
assert found["a package of AOTInductor"] == "right"
# claim: what-has-no-kernel-needs-none
assert found["a layer that is a library's call"] == "right"
# claim: eager-backends-need-none
assert found['backend="aot_eager"'] == found["suppress_errors"] == "right"
