"""Source references: the installed PyTorch is read, never imported; PyTorch is the oracle."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tclab.errors import PageError
from tclab.site.pages.prose import references, sources
from tclab.site.pages.prose.markdown import MarkdownText

#: Names that `inspect` can find too. Each form once: re-export, class, method, submodule, alias.
KNOWN = [
    "torch._dynamo.eval_frame._optimize",
    "torch.compile",
    "torch.nn.Module.compile",
    "torch.nn.Linear",
    "torch.fx.Graph.eliminate_dead_code",
    "torch._dynamo.mark_dynamic",
    "torch.compiler.disable",
    "torch._inductor.scheduler.Scheduler.fuse_nodes",
    "torch._dynamo.guards.GuardBuilder.TENSOR_MATCH",
    "torch.library.custom_op",
    "torch.nn.functional.softmax",
]

ORACLE = """
import importlib, inspect, json, sys
import torch._dynamo.eval_frame, torch._inductor.scheduler, torch.library, torch.fx
def get(name):
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part)
        return inspect.unwrap(found)
root = torch.__file__.rsplit("torch", 1)[0]
out = {}
for name in json.loads(sys.argv[1]):
    thing = get(name)
    lines, line = inspect.getsourcelines(thing)
    out[name] = [inspect.getsourcefile(thing)[len(root):], line, line + len(lines)]
print(json.dumps(out))
"""


@pytest.fixture(scope="module")
def oracle() -> dict[str, tuple[str, int, int]]:
    """File and lines of each name, as Python's `inspect` finds them in the imported torch."""
    command = [sys.executable, "-c", ORACLE, json.dumps(KNOWN)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", KNOWN)
def test_inspect_finds_the_same_place(name: str, oracle: dict[str, tuple[str, int, int]]) -> None:
    file, first, last = oracle[name]
    found = sources.locate(name)
    assert found.file == file
    assert first <= found.line < last  # `inspect` starts at the decorators
    assert found.url.endswith(f"/{file}#L{found.line}")


def test_a_module_and_a_setting() -> None:
    assert sources.locate("torch._inductor").file == "torch/_inductor/__init__.py"
    setting = sources.locate("torch._dynamo.config.recompile_limit")
    text = (site_packages() / setting.file).read_text(encoding="utf-8")
    assert text.splitlines()[setting.line - 1].startswith("recompile_limit")


def site_packages() -> Path:
    spec = importlib.util.find_spec("torch")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parents[1]


def test_triton_links_to_its_own_repository() -> None:
    url = sources.locate("triton.compile").url
    assert url.startswith("https://github.com/triton-lang/triton/blob/v3.")
    assert "/python/triton/" in url


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("torch._dynamo.eval_frame._optimise", "_optimize"),
        ("torch._dynamo.evalframe", "eval_frame"),
        ("torch.fx.Graph.eliminate_deadcode", "eliminate_dead_code"),
    ],
)
def test_a_missing_name_suggests_the_nearest(name: str, near: str) -> None:
    with pytest.raises(PageError) as caught:
        sources.locate_for_page(name, "docs/x.md:7")
    assert caught.value.place == "docs/x.md:7"
    assert name in caught.value.cause
    assert near in caught.value.next_step


def test_nothing_is_imported() -> None:
    code = (
        "import sys; from tclab.site.pages.prose import sources;"
        "sources.locate('torch.compile'); sources.locate('triton.jit');"
        "print(sorted({'torch', 'triton'} & set(sys.modules)))"
    )
    path = str(Path(sources.__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={"PYTHONPATH": path},
    )  # fmt: skip
    assert done.stdout.strip() == "[]"


# --------------------------------------------------------------------------- in Markdown

TEXT = """Intro `src:torch.compile` and
`src:torch.nope_nope`.

```python
x = "`src:torch.not_looked_at`"
```

`src:torch compile`, and `src:` alone is no reference
"""


def test_references_in_prose_become_links_and_errors_name_the_line() -> None:
    linked, problems = references.link_references(MarkdownText("docs/x.md", TEXT, 10))
    first = linked.splitlines()[0]
    assert first.startswith("Intro [`torch.compile`](https://github.com/pytorch/pytorch/blob/")
    assert "`src:torch.not_looked_at`" in linked
    assert [p.place for p in problems] == ["docs/x.md:11", "docs/x.md:17"]


def test_locations_are_remembered_for_the_same_pytorch_only(tmp_path: Path) -> None:
    memory = tmp_path / "sources.json"
    sources.locate("torch.compile")
    references.save_locations(memory)
    data = json.loads(memory.read_text(encoding="utf-8"))
    data["known"]["torch.compile"]["line"] = 1
    memory.write_text(json.dumps(data), encoding="utf-8")
    kept = dict(sources.found_locations)
    try:
        references.load_locations(memory)
        assert sources.locate("torch.compile").line == 1
        sources.found_locations.clear()
        memory.write_text(json.dumps(data | {"key": "another"}), encoding="utf-8")
        references.load_locations(memory)
        assert sources.locate("torch.compile").line > 1
    finally:
        sources.found_locations.clear()
        sources.found_locations.update(kept)
