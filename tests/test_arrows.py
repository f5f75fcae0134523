"""Imports point one way: docs of the rooms are in docs/the-code.md.

Read from the syntax of every module, so that an import inside a function counts too, and one by a
string that names a module (importlib, a table, the command of a process); and then tried in a
process of its own where the forbidden packages cannot be imported at all.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src"

#: Who may import what is not standard library. The longest matching module decides.
THIRD_PARTY: dict[str, set[str]] = {
    "tclab": set(),
    "tclab.capturing": {"torch", "triton", "sympy"},
    "tclab.capturing.trace": set(),
    "tclab.capturing.chain": set(),
    "tclab.display": {"IPython"},  # in a notebook, where it is already there
    "tclab.render": {"pygments", "igraph", "matplotlib"},
    "tclab.explain": {"torch"},
    "tclab.fixture": {"torch"},
    "tclab.cli": {"click", "rich"},
    "tclab.__main__": {"click", "rich"},
    "torch_compile_lab_pytest": {"pytest"},
    "tclab.site.engine.worker.process": {"torch"},
    "tclab.site.engine.worker.warm": {"torch"},
    "tclab.site.engine.worker.shadow": {"torch"},
    "tclab.site.engine.worker.vector_isas": {"torch"},
    "tclab.system.processes": {"psutil"},  # where there is no /proc
    "tclab.site.remote.addresses": {"distributed"},
    "tclab.site.remote.cluster": {"dask", "distributed"},
    "tclab.site.remote.worker": {"dask", "distributed"},
    "tclab.site.remote.worker_calls": {"distributed"},
    "tclab.site.run_views": {"rich"},
    "tclab.site.pages": {
        *("mkdocs", "markdown_exec", "markdown", "pymdownx"),
        *("pygments", "jinja2", "yaml", "rich"),
    },
    "tclab.site.pages.site.cards": {"PIL", "matplotlib"},  # Pillow, and Matplotlib's font
    "tclab.site.labs": {"torch", "jupytext", "nbformat"},
    "tclab.site.cli": {"click", "rich"},
    "tclab.workshop.catalog": {"torch", "triton", "timm", "transformers"},
    "tclab.workshop.verify": {"torch", "triton"},
    "tclab.workshop.bench.measured": {"torch"},
    "tclab.workshop.bench.entry": {"torch"},  # in the worker
    "tclab.workshop.versions": {"torch"},
    "tclab.workshop.cli": {"click", "rich"},
}

#: The rooms, each with the rooms that it may know: its own, those named and what these know.
#: What is not named here (a module of the root, say) is in the room of its own name.
LIBRARY: dict[str, set[str]] = {
    "tclab.errors": set(),
    "tclab.model": {"tclab.errors"},
    "tclab.contrib": set(),
    "tclab.system.opened_files": set(),
    "tclab.system.imports": {"tclab.system.opened_files"},
    "tclab.system.files": set(),
    "tclab.system.streams": set(),
    "tclab.system.threads": set(),
    "tclab.system.processes": set(),
    "tclab.system.surroundings": set(),
    "tclab.system.project": {"tclab.errors"},
    "tclab.system.paths": {"tclab.errors"},
    "tclab.system.inductor_cache": set(),
    "tclab.system.settings": {"tclab.text.scrub"},
    "tclab.system.installed": {"tclab.system.imports"},
    "tclab.system.toolchain": {"tclab.text.scrub"},
    "tclab.system.machine": {
        *("tclab.system.settings", "tclab.system.surroundings", "tclab.system.toolchain"),
        "tclab.model",
    },
    "tclab.system": set(),
    "tclab.text.redaction": set(),
    "tclab.text.user_lines": set(),
    "tclab.text.spans": set(),
    "tclab.text.loops": {"tclab.text.spans"},
    "tclab.text.printed_stacks": set(),
    "tclab.text.scrub": {"tclab.system.project"},
    "tclab.text": set(),
    "tclab.targets": {"tclab.model"},
    "tclab.render": {"tclab.text.scrub", "tclab.model"},
    "tclab.display": {"tclab.render", "tclab.capturing.read"},
    # from the compile that is heard up to the one that is asked for
    "tclab.capturing.trace": {"tclab.model"},
    "tclab.capturing.torch_private": {"tclab.capturing.trace", "tclab.system.machine"},
    "tclab.capturing.read": {
        *("tclab.capturing.torch_private", "tclab.text.printed_stacks"),
        *("tclab.text.redaction", "tclab.text.user_lines"),
    },
    "tclab.capturing.machine_code": {"tclab.capturing.read", "tclab.targets"},
    "tclab.capturing.chain": {"tclab.capturing.machine_code", "tclab.text.spans"},
    "tclab.capturing.result": {"tclab.capturing.chain"},
    "tclab.capturing.fresh": {"tclab.capturing.torch_private"},
    "tclab.capturing.listen": {"tclab.capturing.torch_private"},
    "tclab.capturing.outputs": {"tclab.capturing.torch_private", "tclab.text.user_lines"},
    "tclab.capturing.backward": {"tclab.capturing.outputs"},
    "tclab.capturing.observe": {"tclab.capturing.read", "tclab.capturing.fresh"},
    "tclab.capturing.agreement": {
        *("tclab.capturing.backward", "tclab.capturing.fresh", "tclab.text.scrub"),
        *("tclab.text.user_lines", "tclab.text.printed_stacks"),
    },
    "tclab.capturing.target": {
        *("tclab.capturing.result", "tclab.capturing.fresh", "tclab.capturing.listen"),
        *("tclab.capturing.backward", "tclab.targets", "tclab.system.imports"),
    },
    "tclab.capturing.runnable": {"tclab.capturing.target"},
    "tclab.capturing": {
        "tclab.capturing.target",
        "tclab.capturing.observe",
        "tclab.capturing.agreement",
    },  # request, and what the room offers
    "tclab.compare": {"tclab.capturing", "tclab.system.files"},
    "tclab.compare.page": {"tclab.compare", "tclab.render"},
    "tclab.advisories": {"tclab.model"},
    "tclab.findings": {
        *("tclab.compare", "tclab.text.user_lines", "tclab.text.printed_stacks"),
    },
    "tclab.jobs": {
        *("tclab.findings", "tclab.capturing.runnable", "tclab.system.inductor_cache"),
        *("tclab.system.files", "tclab.system.paths"),
    },
    "tclab.explain": {
        *("tclab.advisories", "tclab.findings", "tclab.text.loops"),
        *("tclab.compare", "tclab.system.files", "tclab.system.machine", "tclab.targets"),
        *("tclab.system.threads", "tclab.system.processes", "tclab.system.inductor_cache"),
    },
    "tclab.upgrade": {"tclab.explain", "tclab.system.paths", "tclab.compare.page"},
    "tclab.fixture": {"tclab.compare.page", "tclab.explain"},
    "tclab.cli": {"tclab.upgrade", "tclab.jobs", "tclab.system.streams", "tclab.system.processes"},
    "tclab": {
        "tclab.capturing",
        "tclab.display",
        "tclab.explain",
        "tclab.system.imports",
        "tclab.model",
    },
    "torch_compile_lab_pytest": {"tclab.fixture"},  # what pytest imports at its start
    "torch_compile_lab": {"tclab.__main__"},  # the command's start, which no other package has
}

SITE: dict[str, set[str]] = {
    "tclab.site": set(),
    "tclab.site.snippets": {"tclab.errors", "tclab.model"},
    "tclab.site.store": {
        *("tclab.model", "tclab.site.snippets", "tclab.system.project", "tclab.system.installed"),
    },
    "tclab.site.engine.worker": {
        "tclab.site.snippets",
        "tclab.display",
        "tclab.system.imports",
        "tclab.system.machine",
        "tclab.system.threads",
        "tclab.system.processes",
        "tclab.system.surroundings",
        "tclab.capturing.torch_private",
    },
    "tclab.site.engine": {
        *("tclab.site.store", "tclab.site.engine.worker"),
        *("tclab.system.machine", "tclab.system.paths", "tclab.system.inductor_cache"),
    },
    "tclab.site.remote": {"tclab.site.engine", "tclab.system.settings"},
    "tclab.site.engine.bare": {"tclab.site.remote"},
    "tclab.site.versions": {"tclab.upgrade", "tclab.site.engine"},
    "tclab.site.labs": {"tclab.site.engine", "tclab.explain"},
    "tclab.site.run_views": {"tclab.site.engine", "tclab.cli"},
    "tclab.site.pages": {
        *("tclab.site.labs", "tclab.site.run_views", "tclab.render", "tclab.site.versions"),
        "tclab.site.remote",
    },
    "tclab.site.cli": {"tclab.site.pages", "tclab.cli"},
}

WORKSHOP: dict[str, set[str]] = {
    "tclab.workshop": set(),
    "tclab.workshop.catalog": {"tclab.errors"},
    "tclab.workshop.verify": {
        *("tclab.capturing", "tclab.workshop.catalog", "tclab.system.files", "tclab.site.store"),
    },
    "tclab.workshop.bench": {
        *("tclab.capturing.torch_private", "tclab.system.machine", "tclab.text.scrub"),
        *("tclab.workshop.catalog", "tclab.site.store", "tclab.display", "tclab.site.remote"),
        "tclab.system.inductor_cache",
    },
    "tclab.workshop.versions": {"tclab.site.versions", "tclab.workshop.catalog"},
    "tclab.workshop.cli": {"tclab.workshop.bench", "tclab.workshop.verify", "tclab.site.cli"},
}

#: Where the houses meet: each command by its name, and what a machine without click can do.
ROOTS: dict[str, set[str]] = {
    "tclab.cli.command": {"tclab.cli", "tclab.site.cli", "tclab.workshop.cli"},
    "tclab.__main__": {
        "tclab.cli.command",
        "tclab.workshop.bench",
        "tclab.workshop",
        "tclab.site.engine.bare",
    },
}

KNOWS = LIBRARY | SITE | WORKSHOP | ROOTS

#: The packages whose modules import torch when they are imported.
TORCH_ROOMS = {
    *("tclab.capturing", "tclab.capturing.read.replay", "tclab.workshop.verify.attention"),
    *(
        "tclab.workshop.catalog.functions",
        "tclab.workshop.catalog.models",
        "tclab.workshop.catalog.operators",
        "tclab.workshop.catalog.subject",
    ),
    "tclab.workshop.bench.measured",
    "tclab.site.labs.capstone.run",  # in the reader's process
}

#: Rooms of these that import no torch: they read the trace of any machine, too.
WITHOUT_TORCH = {
    *("tclab.capturing.read", "tclab.capturing.trace", "tclab.capturing.runnable.question"),
}

#: Where private names of PyTorch and Triton may stand; each is in a table of torch_private.
PRIVATE_ROOMS = {
    "tclab.capturing.torch_private",
    "tclab.capturing.target",
    "tclab.capturing.runnable",
    "tclab.site.engine.worker.shadow",
    "tclab.site.engine.worker.warm",
    "tclab.workshop.catalog",  # functions such as users write, who use private names
    "tclab.workshop.bench.measured.private",  # a table, as in torch_private
}

#: More modules of a folder than this may hide each other, more lines of a module two ideas. Both
#: warn only: whoever must keep a number cuts at the number, not where the sense changes.
MANY_MODULES, MANY_LINES = 18, 300


@dataclass(frozen=True)
class Import:
    module: str  # who imports
    name: str  # what, with full dots
    line: int
    lazy: bool  # inside a function
    typing: bool  # only under TYPE_CHECKING

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.name}"


def module_name(path: Path) -> str:
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(p): p for p in sorted(SRC.rglob("*.py"))}


def names(node: ast.Import | ast.ImportFrom, module: str, package: bool) -> Iterator[str]:
    """What an import statement imports: modules where they are known, else their parent."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    base = node.module or ""
    if node.level:
        up = module.split(".") if package else module.split(".")[:-1]
        up = up[: len(up) - node.level + 1]
        base = ".".join([*up, base] if base else up)
    for alias in node.names:
        full = f"{base}.{alias.name}"
        yield full if full in MODULES or not base.startswith("tclab") else base


def named_by(text: str) -> Iterator[str]:
    """Yield the modules that a string names: ``tclab.site.labs.judge.run`` and its like, imported
    by name; all of a package where only the rest is computed (``tclab.site.labs.exercises.``).
    """
    if re.fullmatch(r"tclab\.(\w+\.)*", text):
        yield from (m for m in MODULES if m.rpartition(".")[0] == text[:-1])
    elif re.fullmatch(r"tclab(\.\w+)+", text):
        name = text if text in MODULES else text.rpartition(".")[0]
        yield from {name} & set(MODULES) - {"tclab"}


def strings(tree: ast.Module) -> Iterator[ast.Constant]:
    """Yield the strings of the code; what an error says is none of them."""
    in_errors = {
        id(part) for n in ast.walk(tree) if isinstance(n, ast.Raise) for part in ast.walk(n)
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in in_errors
        ):
            yield node


@cache
def imports(module: str) -> list[Import]:
    """Return every import of a module, with where it stands."""
    path = MODULES[module]
    found: list[Import] = []
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for string in strings(tree):
        found += [
            Import(module, name, string.lineno, True, False) for name in named_by(string.value)
        ]

    def visit(node: ast.AST, lazy: bool, typing: bool) -> None:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            imported = names(node, module, path.name == "__init__.py")
            found.extend(Import(module, name, node.lineno, lazy, typing) for name in imported)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            lazy = True
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            typing = True
        for child in ast.iter_child_nodes(node):
            visit(child, lazy, typing)

    visit(tree, lazy=False, typing=False)
    return found


def room(module: str, rooms: dict[str, set[str]]) -> str | None:
    """Return the longest key of `rooms` that is the module or a package around it."""
    hits = [r for r in rooms if module == r or module.startswith(r + ".")]
    return max(hits, key=len) if hits else None


def within(name: str, rooms: set[str]) -> bool:
    return any(name == r or name.startswith(r + ".") for r in rooms)


def imports_torch(module: str) -> bool:
    """Whether the room of a module is one that imports torch when it is imported."""
    return room(module, {key: set() for key in TORCH_ROOMS | WITHOUT_TORCH}) in TORCH_ROOMS


def is_third_party(name: str) -> bool:
    top = name.split(".")[0]
    return top != "tclab" and top not in sys.stdlib_module_names


def test_every_module_is_looked_at() -> None:
    assert {"tclab", "tclab.model", "tclab.errors"} <= set(MODULES)
    assert any(i.name in {"re", "dataclasses"} for i in imports("tclab.model.codec"))


def test_third_party_packages_stay_in_their_rooms() -> None:
    assert not [
        str(i)
        for module in MODULES
        for i in imports(module)
        if is_third_party(i.name)
        and i.name.split(".")[0] not in THIRD_PARTY[room(module, THIRD_PARTY) or "tclab"]
        and not i.typing
    ]


def known(name: str) -> set[str]:
    """Return the rooms that a room may know, directly or through others."""
    todo, rooms = list(KNOWS[name]), {name}
    while todo:
        if (one := todo.pop()) not in rooms:
            rooms.add(one)
            todo += KNOWS[one]
    return rooms


def test_the_plan_has_no_circle() -> None:
    circles = [name for name in KNOWS if any(name in known(below) for below in KNOWS[name])]
    assert not circles


def test_every_module_is_in_a_room_of_the_plan() -> None:
    assert [m for m in MODULES if room(m, KNOWS) in (None, "tclab")] == ["tclab"]


def test_imports_follow_the_plan() -> None:
    """Function-level imports and those under TYPE_CHECKING count."""
    rooms = {own: known(own) for own in KNOWS}
    assert not [
        str(i)
        for module in MODULES
        for i in imports(module)
        if i.name.split(".")[0] == "tclab" and i.name != "tclab"
        if room(i.name, KNOWS) not in rooms[room(module, KNOWS) or "tclab"]
    ]


def test_three_houses_know_each_other_one_way() -> None:
    """The library neither of the others, the site the library, the workshop both."""
    for house, others in ((LIBRARY, {*SITE, *WORKSHOP, *ROOTS}), (SITE, {*WORKSHOP, *ROOTS})):
        assert not [f"{name}: {known(name) & others}" for name in house
                    if known(name) & others and name != "torch_compile_lab"]  # fmt: skip


def circle() -> str:
    """Return a circle of modules, hidden imports included; a package stands for its __init__
    only.
    """
    graph = {m: {i.name for i in imports(m) if i.name in MODULES} - {m} for m in MODULES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return " → ".join(error.args[1])
    return ""


def test_no_module_imports_itself_through_others() -> None:
    assert circle() == ""


@pytest.mark.parametrize(
    "code",
    [
        "import importlib\nimportlib.import_module('tclab.one')",
        "importlib.import_module(f'tclab.{name}')",
        "runner = 'tclab.one.run'",
        "command = [sys.executable, '-m', 'tclab.one']",
    ],
)
def test_a_circle_that_a_string_closes_is_seen(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {"tclab": "", "tclab.one": "from tclab import two", "tclab.two": code}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(f"{__name__}.MODULES", {name: tmp_path / name for name in texts})
    monkeypatch.setattr(f"{__name__}.imports", imports.__wrapped__)  # nothing kept for another test
    assert circle() in ("tclab.one → tclab.two → tclab.one", "tclab.two → tclab.one → tclab.two")


def test_imports_by_string_are_seen() -> None:
    for module, name in (
        ("tclab", "tclab.display"),
        ("tclab.site.labs.source", "tclab.site.labs.cells"),
        ("tclab.site.labs.judge", "tclab.site.labs.exercises.lab1_backends"),
        ("tclab.site.engine.pool", "tclab.site.engine.worker.supervisor"),
    ):
        assert name in {i.name for i in imports(module)}, module


def test_crowded_rooms_and_long_modules_are_warned_of() -> None:
    rooms = Counter(path.parent for path in MODULES.values() if path.name != "__init__.py")
    lengths = {p: p.read_text(encoding="utf-8").count("\n") for p in MODULES.values()}
    for counts, many, what in ((rooms, MANY_MODULES, "modules"), (lengths, MANY_LINES, "lines")):
        for path, number in counts.items():
            if number > many:
                warnings.warn(f"{path.relative_to(SRC)} has {number} {what}", stacklevel=1)


def test_torch_is_imported_lazily_outside_capturing() -> None:
    assert not [
        str(i)
        for module in MODULES
        if not imports_torch(module)
        for i in imports(module)
        if i.name.split(".")[0] in {"torch", "triton"} or imports_torch(i.name)
        if not i.lazy and not i.typing
    ]


def private_names(path: Path) -> Iterator[str]:
    """Uses of ``torch._x…`` or of Triton beyond its front page, as ``line: name``."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        text = ""
        if isinstance(node, ast.Attribute):
            text = ast.unparse(node)
        elif isinstance(node, ast.ImportFrom):
            text = ".".join([node.module or "", node.names[0].name])
        elif isinstance(node, ast.Import):
            text = node.names[0].name
        if re.match(r"torch(\.\w+)*\._[a-z]|triton\.(backends|compiler|runtime|_C)\b", text):
            yield f"{getattr(node, 'lineno', 0)}: {text}"


def test_private_torch_names_stay_in_their_rooms() -> None:
    assert not [
        f"{module}:{use}"
        for module in MODULES
        if not within(module, PRIVATE_ROOMS)
        for use in private_names(MODULES[module])
    ]


def test_the_guide_names_every_room() -> None:
    """Each package with modules, each module of the root; and no room that is not there."""
    guide = (ROOT / "docs/the-code.md").read_text(encoding="utf-8")
    tables = [rest.partition("\n\n")[0] for rest in guide.split("| room |")[1:]]
    rows = [line.split("|")[1] for table in tables for line in table.splitlines()[2:]]
    named = [name.rstrip("/") for row in rows for name in re.findall(r"`([^`]+)`", row)]
    packages = {path.parent for path in MODULES.values() if path.name != "__init__.py"} - {SRC}
    packages.add(SRC / "tclab/render/assets")  # scripts and style sheets, and a room all the same
    rooms = {path.relative_to(SRC / "tclab").as_posix() for path in packages} - {"."}
    loose = {p.stem for p in (SRC / "tclab").glob("*.py") if not p.stem.startswith("__")}
    assert (rooms | loose) - set(named) == set()
    there = [name for name in named if (path := SRC / "tclab" / name).is_dir()
             or path.with_suffix(".py").is_file()]  # fmt: skip
    assert named == there


# ------------------------------------------------------------------- tried, not only read

BLOCKER = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        top = name.split(".")[0]
        if {condition}:
            raise ImportError(f"{{name}} is not allowed here")
sys.meta_path.insert(0, Blocked())
"""


def run_blocked(condition: str, code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter in which the modules of `condition` do not import."""
    program = BLOCKER.format(condition=condition) + code
    env = {**os.environ, "PYTHONPATH": str(SRC)}
    return subprocess.run(
        [sys.executable, "-c", program],
        env=env,
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )


TRY_ALL = """
import importlib, traceback
for name in {modules!r}:
    try:
        importlib.import_module(name)
    except ImportError:
        print(name, traceback.format_exc(limit=-2))
"""


def failed_imports(condition: str, modules: list[str]) -> str:
    """What cannot be imported, one after the other in one fresh interpreter."""
    done = run_blocked(condition, TRY_ALL.format(modules=modules))
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_other_module_imports_without_torch() -> None:
    modules = [m for m in MODULES if not within(m, TORCH_ROOMS) and m != "tclab.__main__"]
    assert failed_imports("top in ('torch', 'triton')", modules) == ""


def test_the_blocker_blocks() -> None:
    done = run_blocked("top in ('torch', 'triton')", "import torch")
    assert done.returncode == 1
    assert "torch is not allowed here" in done.stderr


#: What `python -m tclab record` takes on a machine that has PyTorch and nothing else.
RECORDING = {
    *(
        "tclab.model",
        "tclab.errors",
        "tclab.text.scrub",
        "tclab.site.snippets.files",
        "tclab.system.machine",
    ),
    *("tclab.site.store", "tclab.site.engine", "tclab.display"),
}


def test_recording_needs_only_the_standard_library() -> None:
    condition = "top != 'tclab' and top not in sys.stdlib_module_names"
    assert failed_imports(condition, [m for m in MODULES if within(m, RECORDING)]) == ""


def test_the_library_imports_without_the_other_houses() -> None:
    condition = "name.startswith(('tclab.site', 'tclab.workshop'))"
    modules = [m for m in MODULES if room(m, KNOWS) in {*LIBRARY, "tclab.cli.command"}]
    assert len(modules) > 200
    assert failed_imports(condition, modules) == ""


def test_text_is_rendered_with_the_standard_library() -> None:
    code = (
        "from tclab import model, render\n"
        "made = [cls(title='t') for cls in model.KINDS.values()\n"
        "        if issubclass(cls, model.Artifact)]\n"
        "assert len(made) >= 8\n"
        "[render.text(a) for a in made]\n"
    )
    done = run_blocked("top != 'tclab' and top not in sys.stdlib_module_names", code)
    assert done.returncode == 0, done.stderr


# ------------------------------------------------------------------------- committed files


def committed() -> list[Path]:
    """Return the text files of the repository's index."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a git checkout: there are no committed files to look at")
    paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    binary = {".png", ".jpg", ".ico", ".woff2", ".gz", ".zip", ".cubin"}
    return [p for p in paths if p.is_file() and p.suffix not in binary]


#: Content that is shown, or was made by a machine: no place on a disk may be in it.
SHOWN = ("records/", "docs/", "snippets/", "benchmarks/")
MACHINE_PATH = re.compile(r"(?<![\w.~}/-])/(?:home|root|Users|tmp|var/folders|private)/[\w.-]+/?")


def test_no_committed_file_names_a_place_on_a_disk() -> None:
    here = {str(ROOT) + "/", sys.prefix + "/"} - {"//"}
    wrong = []
    for path in committed():
        text = path.read_text(encoding="utf-8", errors="replace")
        name = path.relative_to(ROOT).as_posix()
        hits = [place for place in here if place in text]
        if name.startswith(SHOWN):
            hits += MACHINE_PATH.findall(text)
        wrong += [f"{name}: {hit}" for hit in hits]
    assert not wrong
