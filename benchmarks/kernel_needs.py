"""Count the work of Inductor's kernels for large benchmark functions on a GPU, without a GPU.

``PYTHONPATH=src python -m benchmarks.kernel_needs [--target h200] [--out FILE] [NAME…]`` compiles
each function for the target, with its backward in training, and reads of every Triton kernel:

- *bytes*: of each argument, once; of one that is updated in place, twice; never more than the
  numbers that the kernel loads of it (a gather of a few reads a few). An atomic addition reads and
  writes a number each time, as if no cache held it.
- *instructions*: those of the machine code, for all threads of the launch, a loop's body as often
  as it runs, by the unit that executes them.
- *loads*: the widest load from memory, in bits.

``--out records/kernel_needs.json`` keeps them; made with the PyTorch of the recorded times.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import Any

from tclab.render.opcodes import find_opcode as operation
from tclab.site.store import checksums

LARGE = {"rows": 16384, "columns": 8192}
LOGITS = {"rows": 8192, "columns": 32000}
CASES: dict[str, tuple[str, dict[str, int]]] = {
    f"{name}@16384x8192": (name, LARGE)
    for name in (
        *("pointwise_chain", "bias_gelu", "swiglu", "dropout", "softmax", "softmax_written_out"),
        *("rms_norm", "rms_norm_training", "layer_norm_training", "full_norm", "cumulative_sum"),
    )
}
# Without its backward: a loop without loads does not tell how often the machine code's loop runs.
CASES["cross_entropy@8192x32000"] = ("cross_entropy", LOGITS)
CASES["rotary@tokens32768"] = ("rotary", {"tokens": 32768})
CASES["column_sum@1048576x64"] = ("column_sum", {"rows": 2**20, "columns": 64})
CASES["scatter_add@65536x1024"] = ("scatter_add", {"rows": 65536, "columns": 1024})

UNITS = {
    "special": "MUFU F2I I2F F2F POPC FLO",
    "float": "FFMA FMUL FADD HFMA2 HADD2 HMUL2",
    "multiply": "IMAD",
    "memory": "LDG STG LDS STS RED REDG ATOM ATOMG SHFL LDGSTS LDL STL",
    "none": "BRA EXIT BAR S2R S2UR ULDC LDC R2UR BSSY BSYNC WARPSYNC CS2R DEPBAR",
}
UNIT = {name: unit for unit, names in UNITS.items() for name in names.split()}


def unit(opcode: str) -> str:
    """Return the unit of a multiprocessor that executes an opcode; integer arithmetic is the
    default.
    """
    base = opcode.partition(".")[0]
    return UNIT.get(base, "none" if base.startswith("U") else "integer")


def instructions(sass: str) -> tuple[list[str], list[tuple[int, int]]]:
    """Return the opcodes up to the last exit, and the first and last position of each loop."""
    opcodes: list[str] = []
    targets, labels = {}, {}
    for line in sass.splitlines():
        # .L_x_0:
        if label := re.match(r"(\.L_x_\d+):", line):
            labels[label[1]] = len(opcodes)
        #        /*09e0*/              @!P1 BRA `(.L_x_0) ;
        elif name := operation(line, "sass"):
            if to := re.search(r" `\((\.L_x_\d+)\)", line):
                targets[len(opcodes)] = to[1]
            opcodes.append(name)
    end = max(place for place, opcode in enumerate(opcodes) if opcode == "EXIT")
    loops = [(labels[to], at) for at, to in targets.items() if labels.get(to, at) < at <= end]
    return opcodes[: end + 1], sorted(loops)


def width(opcode: str) -> int:
    """Return the bits that a load brings from memory to a thread."""
    match = re.search(r"\.[US]?(8|16|64|128)$", opcode)
    return int(match[1]) if match else 32


def number(name: str, code: str) -> int:
    """Return the number in a kernel's line such as `name = 8192`; 1 without such a line."""
    match = re.search(rf"^    {name} = (\d+)$", code, re.MULTILINE)
    return int(match[1]) if match else 1


ITEM = {"bf16": 2, "fp16": 2, "fp32": 4, "fp64": 8, "i64": 8, "i32": 4, "i1": 1, "i8": 1, "u8": 1}


def looped_bytes(code: str, numbers: float) -> list[float]:
    """Return the bytes that a thread loads in one round of each loop, with these `numbers` per
    thread.
    """
    kinds = dict(re.findall(r"'(\w+)': '\*(\w+)'", code))
    bodies = [re.split(r"\n    \S", loop)[0] for loop in re.split(r"\n    for \w+ in ", code)[1:]]
    pattern = r"tl\.load\((\w+) \+ \((?=[^\n]*r0_)"  # tl.load(in_ptr0 + (r0_1 + 8192*x0), …
    return [sum(ITEM[kinds[at]] for at in re.findall(pattern, b)) * numbers for b in bodies]


def rounds(code: str, settings: dict[str, int], opcodes: list[str], loops: Any) -> list[int]:
    """Return how often each loop of the machine code runs; the compiler may have unrolled it."""
    if not loops:
        return []
    threads, row = 32 * settings["num_warps"], number("r0_numel", code)
    block = settings.get("R0_BLOCK", row)
    wanted = looped_bytes(code, settings["XBLOCK"] * block / threads)
    if len(wanted) != len(loops):
        raise SystemExit(
            f"{len(loops)} loops in the machine code, {len(wanted)} in Triton:\n{code}"
        )
    times = math.ceil(row / block) * settings.get("RSPLIT_SIZE", 1)  # so many rows a block
    bits = [
        sum(width(o) for o in opcodes[a : b + 1] if o.partition(".")[0] == "LDG") for a, b in loops
    ]
    return [max(1, round(times * want * 8 / got)) for want, got in zip(wanted, bits, strict=True)]


def executed(code: str, settings: dict[str, int], sass: str) -> Counter[str]:
    """Return the instructions of one thread by unit."""
    opcodes, loops = instructions(sass)
    weights = [1] * len(opcodes)
    for (first, last), times in zip(loops, rounds(code, settings, opcodes, loops), strict=True):
        weights[first : last + 1] = [times] * (last + 1 - first)
    counts: Counter[str] = Counter()
    for opcode, weight in zip(opcodes, weights, strict=True):
        counts[unit(opcode)] += 0 if opcode.startswith("NOP") else weight
    return counts


def sizes(wrapper: str) -> dict[str, tuple[int, int]]:
    """Return the number of elements, and the bytes of each, for every buffer of a generated
    module.
    """
    #   arg0_1 = rand_strided((16384, 8192), (8192, 1), device='cuda:0', dtype=torch.bfloat16)
    #   buf0 = empty_strided_cuda((16384, 8192), (8192, 1), torch.bfloat16)
    pattern = r"(\w+) = \w+_strided\w*\((\(.*?\)), \(.*?\), .*?torch\.(\w+)\)"
    import torch

    result = {}
    for name, shape, dtype in re.findall(pattern, wrapper):
        result[name] = (math.prod(eval(shape)), getattr(torch, dtype).itemsize)  # our own output
    #   buf2 = buf0; del buf0  # reuse
    for new, old in re.findall(r"(\w+) = (?:reinterpret_tensor\()?(\w+)[,;]", wrapper):
        if old in result:
            result.setdefault(new, result[old])
    return result


def launches(wrapper: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the kernel's name and its arguments' names for each launch of a Triton kernel."""
    #   triton_red_fused_0.run(arg0_1, reinterpret_tensor(buf0, (…), (…), 0), 16, stream=stream0)
    for name, arguments in re.findall(r"(triton_\w+)\.run\((.*), stream=", wrapper):
        plain = re.sub(r"reinterpret_tensor\((\w+), \(.*?\), \(.*?\), \w+\)", r"\1", arguments)
        yield name, plain.split(", ")


def moved(code: str, arguments: list[str], known: dict[str, tuple[int, int]]) -> int:
    """Return the bytes of the arguments, as the module's text states them."""
    names = re.search(r"def triton_\w+\((.*?)\)", code)
    assert names, code
    most = number("xnumel", code) * number("r0_numel", code)
    total = 0
    for name, argument in zip(names[1].split(", "), arguments, strict=False):
        if argument in known:
            numbers, item = known[argument]
            times = max(1, code.count(f"({name} +"))  # two loads have a half each
            atomic = f"tl.atomic_add({name} +" in code  # any element may be updated several times
            numbers = most if atomic else min(numbers, most * times)
            total += numbers * item * (2 if atomic or name.startswith("in_out") else 1)
    return total


def needs(kernel: Any, compiled: Any, arguments: list[str], known: Any) -> dict[str, Any]:
    """Return the work of one launch of one kernel."""
    code, sass = kernel.code, compiled.stages["sass"].code
    config, taken = compiled.configuration.config, compiled.resources
    settings = config.settings
    rows = settings["XBLOCK"] * settings.get("RSPLIT_SIZE", 1)  # XBLOCK is 1 if rows are split
    grid = math.ceil(number("xnumel", code) / rows)
    threads = grid * 32 * settings["num_warps"]
    counts = {u: n * threads for u, n in executed(code, settings, sass).items()}
    loads = [width(o) for o in instructions(sass)[0] if o.partition(".")[0] == "LDG"]
    return {
        "kernel": compiled.name,
        "config": str(config),
        "blocks": grid,
        "numbers": number("xnumel", code) * number("r0_numel", code),
        "row": number("r0_numel", code),
        "bytes": moved(code, arguments, known),
        "instructions": counts,
        "load_bits": max(loads, default=0),
        "atomics": "tl.atomic_" in code,
        "registers": taken.registers,
        "occupancy": f"{taken.occupancy.share:.0%}",
    }


def count(name: str, size: dict[str, int], target: str) -> list[dict[str, Any]]:
    """Yield every launch of the function, in order."""
    import torch

    import tclab
    from tclab.workshop.catalog.functions import kernels

    def empty(device: str, *shape: int, grad: bool = False) -> torch.Tensor:
        return torch.empty(shape, dtype=torch.bfloat16, requires_grad=grad)

    kernels.random = empty
    subject = getattr(kernels, name)("cpu", **size)
    function, arguments = subject.call()
    try:
        with torch.set_grad_enabled(subject.grad):
            c = tclab.capture(function, target=target, backward=subject.grad)(*arguments)
    finally:
        torch._dynamo.reset()
    texts = {kernel.kernel_name: kernel for kernel in c.kernels}
    machine_code = {kernel.name: kernel for kernel in c.compile_kernels()}
    modules = [c.wrapper_code] if isinstance(c.wrapper_code, str) else list(c.wrapper_code)
    return [
        needs(texts[kernel], machine_code[kernel], arguments, sizes(module))
        for module in modules
        for kernel, arguments in launches(module)
    ]


def alone(name: str, target: str) -> list[dict[str, Any]]:
    """Count in a process of its own, which frees its memory at the end."""
    command = [sys.executable, "-m", "benchmarks.kernel_needs", "--target", target, "--one", name]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise SystemExit(f"{name}: {answer.stderr[-2000:]}")
    launched: list[dict[str, Any]] = json.loads(answer.stdout.splitlines()[-1])
    return launched


def main() -> None:
    """Count each function in turn, and keep the counts."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", default=list(CASES))
    parser.add_argument("--target", default="h200")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--one", help="count this one here, and print it as JSON")
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(count(*CASES[chosen.one], chosen.target)))
        return
    counted = {}
    with ThreadPoolExecutor(2) as pool:
        for name, kernels in zip(
            chosen.names, pool.map(alone, chosen.names, repeat(chosen.target)), strict=True
        ):
            counted[name] = kernels
            print(name, *(kernel["kernel"] for kernel in kernels), flush=True)
            if chosen.out:
                keep(chosen.out, chosen.target, counted)


def keep(path: Path, target: str, counted: dict[str, Any]) -> None:
    """Write a line for each function, so that a diff shows where a change is."""
    checksums.check_beginning(path)
    head = json.dumps({"target": target, "environment": environment()})[1:-1]
    if path.exists() and (former := json.loads(path.read_text()))["target"] == target:
        same = former["environment"] == environment()
        counted = {**(former["functions"] if same else {}), **counted}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(k)}" for name, k in counted.items())
    path.write_text(f'{{{head}, "functions": {{\n{lines}\n}}}}\n')
    checksums.write(path)


def environment() -> dict[str, str]:
    """Return the versions of the compiler that made the kernels."""
    import torch
    import triton

    return {"torch": torch.__version__, "triton": triton.__version__}


if __name__ == "__main__":
    main()
