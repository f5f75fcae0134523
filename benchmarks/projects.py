"""Make the projects to time: 60 generated snippets, and the site's own that need no GPU.

Each set of snippets becomes four projects with the same code: ours, plain markdown-exec, MyST-NB
and sphinx-gallery. Plain means what one would write without tclab: the code in a fence.
"""

from __future__ import annotations

import ast
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.results import ROOT

GENERATED = 60

#: The code of a generated snippet: name, body of f(x, w), whether it also runs backward.
SHAPES = (
    ("pointwise", "torch.relu(x * {a} + {b}).tanh() * w[0]", False),
    ("softmax", "torch.softmax(x * {a} + {b}, dim=-1)", False),
    ("reduction", "(x * {a}).sin().sum(dim=1) + {b}", False),
    ("layer_norm", "torch.nn.functional.layer_norm(x * {a}, (x.shape[1],)) + {b}", False),
    ("matmul", "torch.relu(x @ w * {a} + {b})", False),
    ("backward", "torch.sigmoid(x @ w * {a} + {b})", True),
)

TEMPLATE = '''"""Generated snippet {number}: {kind}."""

import torch


def f(x, w):
    return {body}


torch.manual_seed({number})
x = torch.randn({rows}, {columns}, requires_grad={grad})
w = torch.randn({columns}, {columns})
y = torch.compile(f)(x, w)
torch.testing.assert_close(y, f(x, w), rtol=1e-4, atol=1e-4)
{tail}
'''


@dataclass(frozen=True)
class TimedSnippet:
    """One snippet as text. `name` is ``topic/what``."""

    name: str
    source: str

    @property
    def flat(self) -> str:
        return self.name.replace("/", "__")

    @property
    def title(self) -> str:
        text = ast.get_docstring(ast.parse(self.source)) or self.name
        return text.splitlines()[0]

    @property
    def code(self) -> str:
        """The source without its docstring."""
        first = ast.parse(self.source).body[0]
        return "\n".join(self.source.splitlines()[first.end_lineno or 0 :]).strip() + "\n"


def generated(count: int = GENERATED) -> list[TimedSnippet]:
    """Yield `count` small compiles, all different, and the same on every machine."""
    return [_generated(number) for number in range(1, count + 1)]


def _generated(number: int) -> TimedSnippet:
    kind, body, grad = SHAPES[number % len(SHAPES)]
    tail = "y.sum().backward()\nprint(x.grad.shape)" if grad else "print(y.shape)"
    source = TEMPLATE.format(
        number=number,
        kind=kind.replace("_", " "),
        body=body.format(a=1 + number / 8, b=number / 16),
        rows=8 + number,
        columns=16 + 8 * (number % 7),
        grad=grad,
        tail=tail,
    )
    return TimedSnippet(f"generated/{kind}_{number:02d}", source)


def of_the_site() -> list[TimedSnippet]:
    """Return the site's snippets that run without a GPU, beside others, and end without an
    error.
    """
    from tclab.site import snippets

    able = [
        s for s in snippets.find(ROOT) if "cuda" not in s.needs and not s.alone and not s.raises
    ]
    return [TimedSnippet(s.name, s.source) for s in able]


# ----------------------------------------------------------------------------- projects


def fresh(folder: Path) -> Path:
    """Empty `folder` and return it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def include_files() -> list[Path]:
    """Return the local files that the site's snippets import."""
    return sorted((ROOT / "snippets").glob("*/_*.py"))


def include_path(folder: Path) -> str:
    """Return a PYTHONPATH by which code outside ``snippets/`` finds tclab and the local files."""
    topics = sorted(p for p in (folder / "includes").glob("*") if p.is_dir())
    return ":".join(map(str, [ROOT / "src", *topics]))


def write_includes(folder: Path) -> None:
    for path in include_files():
        target = folder / "includes" / path.parent.name / path.name
        write(target, path.read_text(encoding="utf-8"))


MKDOCS = """site_name: Benchmark
strict: {strict}
theme: {{name: material, font: false}}
plugins: [search, markdown-exec]
markdown_extensions: [md_in_html, pymdownx.highlight, pymdownx.superfences, pymdownx.tabbed]
{more}"""


def ours(folder: Path, examples: Iterable[TimedSnippet]) -> Path:
    """Make our own project: a snippet file and a page for each example."""
    fresh(folder)
    hook = "from tclab.site.pages.hooks import *  # noqa: F403\n"
    write(folder / "hook.py", hook)
    write(folder / "mkdocs.yml", MKDOCS.format(strict="true", more="hooks: [hook.py]\n"))
    write(folder / "docs" / "index.md", "# Benchmark\n")
    for path in include_files():
        write(folder / "snippets" / path.parent.name / path.name, path.read_text(encoding="utf-8"))
    for example in examples:
        write(folder / "snippets" / f"{example.name}.py", example.source)
        block = f'from tclab.site.pages import snippet\nsnippet("{example.name}")'
        page = f'# {example.title}\n\n```python exec="1" html="1"\n{block}\n```\n'
        write(folder / "docs" / f"{example.flat}.md", page)
    return folder


def plain(folder: Path, examples: Iterable[TimedSnippet]) -> Path:
    """Make a project of MkDocs with markdown-exec: the code in an executed fence on a page of its
    own.
    """
    write_includes(fresh(folder))
    write(folder / "mkdocs.yml", MKDOCS.format(strict="false", more=""))
    write(folder / "docs" / "index.md", "# Benchmark\n")
    for example in examples:
        fence = f'```python exec="1" source="above" result="text" id="{example.name}"'
        page = f"# {example.title}\n\n{fence}\n{example.code}```\n"
        write(folder / "docs" / f"{example.flat}.md", page)
    return folder


MYST_CONF = """project = "benchmark"
extensions = ["myst_nb"]
nb_execution_mode = "cache"
nb_execution_timeout = 600
nb_execution_cache_path = ".jupyter_cache"
html_theme = "basic"
"""

MYST_HEAD = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  name: python3
  display_name: python3
---

"""


def myst(folder: Path, examples: list[TimedSnippet]) -> Path:
    """Make a project of Sphinx with MyST-NB and jupyter-cache: a text notebook for each example."""
    write_includes(fresh(folder))
    write(folder / "source" / "conf.py", MYST_CONF)
    toc = "\n".join(example.flat for example in examples)
    write(folder / "source" / "index.md", f"# Benchmark\n\n```{{toctree}}\n{toc}\n```\n")
    for example in examples:
        page = f"{MYST_HEAD}# {example.title}\n\n```{{code-cell}} ipython3\n{example.code}```\n"
        write(folder / "source" / f"{example.flat}.md", page)
    return folder


GALLERY_CONF = """project = "benchmark"
extensions = ["sphinx_gallery.gen_gallery"]
html_theme = "basic"
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto",
    "filename_pattern": r"\\.py$",
    "parallel": 2,
    "abort_on_example_error": False,
    "only_warn_on_example_error": True,
    "image_scrapers": (),
    "reset_modules": (),
}
"""


def gallery(folder: Path, examples: Iterable[TimedSnippet]) -> Path:
    """Make a project of Sphinx with sphinx-gallery, two examples at a time."""
    write_includes(fresh(folder))
    write(folder / "source" / "conf.py", GALLERY_CONF)
    write(
        folder / "source" / "index.rst", "Benchmark\n=========\n\n.. toctree::\n\n   auto/index\n"
    )
    write(folder / "examples" / "GALLERY_HEADER.rst", "Examples\n========\n")
    for example in examples:
        head = f'"""\n{example.title}\n{"=" * len(example.title)}\n"""\n'
        write(folder / "examples" / f"{example.flat}.py", head + example.code)
    return folder
