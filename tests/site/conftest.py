"""A small project of its own for each test, and the real one, built once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

NAV = """nav:
  - Home: index.md
"""

HELLO = '''"""Say hello.

The caption of a snippet without PyTorch.
"""

import tclab

tclab.show("hello from a run", title="Greeting", name="greeting")
print("printed by hello")
'''

PAGE = """# Home

Text before.

```python exec="1" html="1"
from tclab.page import snippet
snippet("start/hello")
```
"""


@dataclass
class Project:
    """A folder with mkdocs.yml, docs, snippets: `write` files, then `build`."""

    root: Path

    def write(self, path: str, text: str) -> Path:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        return target

    def page(self, *calls: str) -> None:
        """A home page whose only block, which starts on line 3, makes these calls."""
        body = "\n".join(calls)
        fence = f'```python exec="1" html="1"\nfrom tclab.page import *\n{body}\n```\n'
        self.write("docs/index.md", f"# Home\n\n{fence}")

    def build(self, *flags: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """`mkdocs build` in a process of its own; its output is stdout and stderr together."""
        command = [sys.executable, "-m", "mkdocs", "build", "-q", *flags]
        return subprocess.run(
            command,
            cwd=self.root,
            env=environment() | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )

    def fails(self, *flags: str, **variables: str) -> str:
        """The output of a build that must fail."""
        done = self.build(*flags, **variables)
        assert done.returncode == 1, done.stdout
        assert "Traceback" not in done.stdout
        return done.stdout

    def environment(self) -> dict[str, str]:
        return environment()

    def html(self, page: str = "index.html") -> str:
        return (self.root / "site" / page).read_text(encoding="utf-8")


def environment() -> dict[str, str]:
    """The environment of a build: the package from this checkout, few threads."""
    known = {k: v for k, v in os.environ.items() if not k.startswith(("TCLAB", "SOURCE_DATE"))}
    return known | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project with one page and one snippet that needs no PyTorch."""
    made = Project(tmp_path)
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    before, _, rest = config.partition("nav:\n")
    after = rest[rest.index("\nhooks:") :]
    made.write("mkdocs.yml", before + NAV + after)
    shutil.copytree(ROOT / "theme", tmp_path / "theme", ignore=shutil.ignore_patterns("__pyc*"))
    shutil.copytree(ROOT / "docs" / "assets", tmp_path / "docs" / "assets")
    made.write("snippets/start/hello.py", HELLO)
    made.write("docs/index.md", PAGE)
    return made
