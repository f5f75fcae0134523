"""What the first command prints.

File and command are the page's own, taken from its text.
"""
# tclab: needs=triton reads=docs/index.md timeout=240

import contextlib
import io
import os
import re
import shlex
import tempfile
from pathlib import Path

from tclab.cli import command

page = (Path(__file__).resolve().parents[2] / "docs" / "index.md").read_text()
((name, source),) = re.findall(r'^```python title="(\S+)"\n(.*?)^```$', page, re.M | re.S)
(line,) = re.findall(r"^tclab (explain .*)$", page, re.M)

os.chdir(tempfile.mkdtemp())
os.environ["COLUMNS"] = "88"
Path(name).write_text(source)
with contextlib.redirect_stdout(io.StringIO()) as said:
    status = command.main([word for word in shlex.split(line) if word != "--open"])
print(said.getvalue())
# claim: the-first-command-succeeds
assert status == 0
# claim: a-kernel-comes-with-its-lines
assert f"{name}:5, 6, 7" in said.getvalue()
# claim: one-page-is-written
assert len(list(Path().glob("*.html"))) == 1
