"""From a C++ kernel to the processor's instructions and back to its lines."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._inductor.cpp_builder import CppBuilder

import tclab
from tclab.capturing.machine_code import cpp
from tclab.capturing.torch_private import cpp_commands
from tclab.capturing.torch_private.cpp_commands import Commands
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Trace
from tclab.render.closure import Index

needs_tools = pytest.mark.skipif(
    not (shutil.which("g++") and shutil.which("objdump")), reason="no g++ or no objdump on PATH"
)

#: What objdump prints, shortened: a place is said once, then anew at each inlined instruction.
OBJDUMP = """\

/tmp/x/kernel.o:     file format elf64-x86-64

Disassembly of section .text:

0000000000000000 <kernel._omp_fn.0>:
kernel._omp_fn.0():
/tmp/x/kernel.cpp:12
   0:\tpush   rbp
   4:\tcall   9 <kernel._omp_fn.0+0x9>
\t\t\t5: R_X86_64_PLT32\tomp_get_thread_num-0x4
Vectorized<float>::exp() const:
/usr/include/vec512.h:88 (discriminator 2)
inlined by /tmp/x/kernel.cpp:14 (kernel._omp_fn.0)
   9:\tcall   e <kernel._omp_fn.0+0xe>
\t\t\ta: R_X86_64_PLT32\tSleef_expf16_u10-0x4
inlined by /tmp/x/kernel.cpp:14 (kernel._omp_fn.0)
   e:\tvmovaps zmm0,ZMMWORD PTR [rip+0x0]        # 18 <kernel._omp_fn.0+0x18>
\t\t\t14: R_X86_64_PC32\t.LC0-0x4
kernel._omp_fn.0():
/tmp/x/kernel.cpp:15
  18:\tjl     0 <kernel._omp_fn.0>
/usr/include/other.h:3
  1a:\tret

0000000000000020 <PyInit_kernel>:
PyInit_kernel():
/tmp/x/kernel.cpp:40
  20:\tcall   25 <PyInit_kernel+0x5>
\t\t\t21: R_X86_64_PLT32\tPyModule_Create2-0x4
"""


def test_objdump_s_words_become_lines_and_links() -> None:
    made = cpp._parse_listing(OBJDUMP, offset=10, count=8)
    assert made.text.splitlines() == [
        "kernel._omp_fn.0:",
        "   0:\tpush   rbp",
        "   4:\tcall   omp_get_thread_num",
        "   9:\tcall   Sleef_expf16_u10",
        "   e:\tvmovaps zmm0,ZMMWORD PTR [rip+0x0]",
        "  18:\tjl     0",
        "  1a:\tret",
    ]
    assert made.lines == {2: 2, 3: 2, 4: 4, 5: 4, 6: 5}
    assert made.instructions == 6


@pytest.fixture(scope="module")
def softmax() -> Any:
    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, dim=-1)

    return tclab.capture(f)(torch.randn(64, 1000))


@needs_tools
def test_an_instruction_leads_back_to_its_line_and_to_python(softmax: Any) -> None:
    (chain,) = softmax.chains()
    panes = {pane.stage: number for number, pane in enumerate(chain.panes)}
    assembly, kernel = chain.panes[panes["asm"]], chain.panes[panes["cpp"]]
    rows = assembly.code.splitlines()
    instructions = [n for n, row in enumerate(rows, 1) if row.startswith(" ")]
    assert sum(n in assembly.links for n in instructions) >= 0.95 * len(instructions)
    index = Index.from_chain(chain)
    calls = [n for n, row in enumerate(rows) if "exp" in row]
    assert calls
    for number in calls:
        above = index.ancestors(index.starts[panes["asm"]] + number)
        of_kernel = [a - index.starts[panes["cpp"]] for a in above if index.pane(a) == panes["cpp"]]
        assert any(".exp()" in kernel.code.splitlines()[line] for line in of_kernel)
        assert any(index.pane(a) == panes["python"] for a in above)


def command_of(kernel: Any, commands: Commands) -> tuple[str, str]:
    """Return the file that a kernel is in, and what compiles it."""
    return next(pair for pair in commands.items() if kernel.code.strip("\n") in pair[0])


@needs_tools
def test_tables_change_no_instruction(softmax: Any, tmp_path: Path) -> None:
    (kernel,) = softmax.kernels
    text, command = command_of(kernel, cpp_commands.known_commands(softmax.trace))
    file = tmp_path / "kernel.cpp"
    file.write_text(text, encoding="utf-8")
    with_tables = cpp._object_command(shlex.split(command), str(file))
    shown = []
    for words in (with_tables, [word for word in with_tables if word != "-g"]):
        subprocess.run([*words, "-o", str(tmp_path / "k.o")], check=True, capture_output=True)
        reader = ["objdump", "-d", "-r", str(tmp_path / "k.o")]
        done = subprocess.run(reader, check=True, capture_output=True, text=True)
        shown.append(done.stdout)
    assert shown[0] == shown[1]


def test_without_objdump_the_chain_ends_at_the_kernel(softmax: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(cpp.shutil, "which", lambda name: None)
    fresh = tclab.capturing.Capture(softmax.trace)
    assert fresh.chains()[0].panes[-1].stage == "cpp"


def test_a_kernel_whose_compile_was_not_seen_has_none() -> None:
    kernel = "void kernel() { never(); }"
    assert cpp.assemble(kernel, {"void kernel() { other(); }": "g++ x.cpp -o x.so"}) is None


def test_a_compiler_that_fails_leaves_it_out() -> None:
    text = "void kernel() { this is no C++ }"
    assert cpp.assemble(text, {text: "g++ x.cpp -shared -o x.so"}) is None


def test_the_command_makes_an_object_and_links_nothing() -> None:
    command = "g++ /c/x.main.cpp -D A -O3 -o /c/x.so -shared -fPIC -lgomp -L/lib -mavx2"
    made = cpp._object_command(shlex.split(command), "k.cpp")
    assert made == ["g++", "k.cpp", "-D", "A", "-O3", "-fPIC", "-mavx2", "-c", "-g"]


# ------------------------------------------------------------------------------ commands


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: Any) -> Any:
    """Inductor's builder of commands, which here only says what it was given."""

    def init(self: Any, name: str, sources: Any, *args: Any, **kwargs: Any) -> None:
        self.line = f"g++ {sources}"

    monkeypatch.setattr(cpp_commands, "_kept_commands", {})
    monkeypatch.setattr(CppBuilder, "__init__", init)
    monkeypatch.setattr(CppBuilder, "get_command_line", lambda self: self.line)

    def compile_file(text: str) -> str:
        file = tmp_path / f"{text}.cpp"
        file.write_text(text, encoding="utf-8")
        CppBuilder(text, str(file))
        return f"g++ {file}"

    return compile_file


def test_a_command_is_part_of_the_trace(compiled: Any) -> None:
    outer, inner = Trace(), Trace()
    with cpp_commands.note_commands(outer):
        with cpp_commands.note_commands(inner):
            both = compiled("a")
        late = compiled("b")
    after = Trace()
    assert dict(cpp_commands.known_commands(outer)) == {"a": both, "b": late}
    assert [event.data for event in inner.select(names.CPP_COMMAND)] == [both]
    # the library is loaded: Inductor asks for no command, and the capture finds the former one
    assert dict(cpp_commands.known_commands(after)) == {"a": both, "b": late}
    compiled("c")  # nobody listens
    assert "c" not in cpp_commands.known_commands(after)


def test_only_the_newest_commands_are_kept(compiled: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(cpp_commands, "MAX_KEPT_COMMANDS", 3)
    trace = Trace()
    with cpp_commands.note_commands(trace):
        for text in "abcade":
            compiled(text)
    assert list(cpp_commands.known_commands(Trace())) == ["a", "d", "e"]  # a was noted again
    assert set(cpp_commands.known_commands(trace)) == set("abcde")  # its own are all there
