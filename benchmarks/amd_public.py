"""Compare kernels that an AMD GPU ran, as someone published them, with those of a target.

    git clone https://github.com/philemon1977/romc.ai-gfx90a CLONE
    python -m benchmarks.amd_public CLONE [-o FILE.json]

The repository holds Inductor's and Triton's caches of a server with eight MI250 (gfx90a), PyTorch
2.12 for ROCm 7.2. Two of its functions can be written again from the graphs in its files; here they
are compiled with the PyTorch that is installed, and each kernel is compared by its name, its
settings and its text. A half-check: no device is asked, and none of the kernels is a reduction.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tclab import targets
from tclab.explain import hip
from tclab.system import machine

COMMIT = "f68f2e3bb135acb9c34909e313ad2df0dc54560d"
SOURCE = f"https://github.com/philemon1977/romc.ai-gfx90a/blob/{COMMIT}/"
CACHES = "quark-int8/dumps/"
#: The MI250 of that server: it has the multiprocessors of a card that is not the MI250X.
MULTIPROCESSORS = 104


@dataclass(frozen=True)
class Case:
    """A function of the server's, its arguments, and the files with the kernels of that size."""

    name: str
    make: Callable[[], tuple[Callable[..., Any], tuple[Any, ...]]]
    files: tuple[str, ...]


def _token_mask(size: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return the function that keeps a process's part of the vocabulary, and `size` tokens."""
    import torch

    def mask(x: Any, first: int, last: int, added: int, added_last: int, padding: int) -> Any:
        inside = (x >= first) & (x < last)
        inside_added = (x >= added) & (x < added_last)
        moved = added - (last - first) - padding
        valid = inside | inside_added
        return valid * (x - (first * inside + moved * inside_added)), ~valid

    return mask, (torch.zeros(size, dtype=torch.int32), 96960, 113120, 129280, 129280, 0)


def _gate() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return the gated activation of a feed-forward layer, written into a second tensor. Its input
    starts inside another tensor, so that nothing is known of its alignment.
    """
    import torch

    def gate(x: Any, out: Any) -> None:
        half = x.shape[-1] // 2
        up = x[..., half:].clamp(min=-10.0, max=10.0)
        out.copy_(torch.nn.functional.silu(x[..., :half].clamp(max=10.0)) * up)

    rows, columns, start = 49152, 576, 5120
    whole = torch.zeros(start + rows * columns, dtype=torch.bfloat16)
    return gate, (whole[start:].view(rows, columns),
                  torch.zeros(rows, columns // 2, dtype=torch.bfloat16))  # fmt: skip


_NEW, _OLD, _WIRE = (f"{CACHES}{run}/torchinductor_root/" for run in ("new", "old", "wire"))
CASES = (
    Case("mask of 8192 tokens", lambda: _token_mask(8192),
         (f"{_NEW}4g/c4guvra6ngazfkz67cslhu4uvq35ldan77yrzfllganmqc4t7vf3.py",)),
    Case("mask of 2 tokens", lambda: _token_mask(2),
         (f"{_NEW}6p/c6p5yw26c5pb2jokud435fywkwjbn27mwhqkdsofdyvk5hybbrg6.py",)),
    Case("mask of 1 token", lambda: _token_mask(1),
         (f"{_NEW}cm/ccmczxdlflnsrak37pb3t72xjh6fvqx2g5do3rap2vxflfzsyv7s.py",
          f"{_OLD}3c/c3cqexn2cfg72kevsh4txqgnimplfkfnf7gaxasbuxmpafhakahx.py")),
    Case("gated activation", _gate,
         (f"{_WIRE}bi/cbihai3s336fsmscra7jr3xb4drorwvuujtrsf6nj7li2djx3e36.py",)),
)  # fmt: skip
#: What Triton compiled there: its settings (.json), or its block size (.source).
COMPILED = (
    f"{_NEW}triton/7/LRCMISFZUHQCPC4KYCJKRVB55YIABH6DZRN7GSLLGMKTMYZ7ALLQ/triton_poi_fused_add_bitwise_and_bitwise_or_ge_lt_mul_sub_0.json",
    f"{_NEW}triton/7/O3XKBD5XJ3OG577UCZFXFQBYYKUMPBSO25OI54MNOBI7WMYI2JNA/triton_poi_fused_bitwise_and_bitwise_not_bitwise_or_ge_lt_1.json",
    f"{_NEW}triton/7/FK2KD5CVTQ2CT4WAHPYP6D3TYVGTZEDNUE6WWGHLQNXLCM23QYDA/triton_poi_fused_add_bitwise_and_bitwise_not_bitwise_or_ge_lt_mul_sub_0.source",
    f"{_NEW}triton/7/ITMXP2AGXI6KGWMQSNPCV33DA2HFPXS6DJE7Z7D7FGQSH4G5HMCQ/triton_poi_fused_clamp_copy__mul_silu_slice_0.source",
)


def main() -> None:
    """Compile each function for the server's GPU, compare its kernels, and print the rows."""
    parser = argparse.ArgumentParser(prog="benchmarks.amd_public", description=__doc__)
    parser.add_argument("clone", type=Path)
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    target = targets.get("mi250x", unverified=True)
    target = dataclasses.replace(
        target, device="AMD Instinct MI250", sm_count=MULTIPROCESSORS, note=""
    )
    hip.prepare_process(target)
    kernels, ours = [], []
    for case in CASES:
        compiled = _compile(case, target)
        ours += compiled
        for file in case.files:
            kernels.append(_compare(case, file, options.clone, compiled))
            print(json.dumps(kernels[-1]), flush=True)
    taken = [_taken(file, options.clone, ours) for file in COMPILED]
    print(json.dumps(taken, indent=1))
    if options.output:
        head = {"target": target.title, "source": SOURCE, "machine": machine.here()}
        report = {**head, "machine": dataclasses.asdict(head["machine"]), "kernels": kernels,
                  "taken": taken}  # fmt: skip
        options.output.write_text(json.dumps(report, indent=1) + "\n", "utf-8")


def _compile(case: Case, target: targets.Target) -> list[Any]:
    from tclab.capturing.target.capture import capture_for

    fn, args = case.make()
    capture = capture_for(fn, target, [(args, {})], options={"dynamic": True})
    if capture.gaps:
        raise SystemExit(f"{case.name}: {capture.gaps}")
    return list(capture.compile_kernels())


def _compare(case: Case, file: str, clone: Path, compiled: list[Any]) -> dict[str, Any]:
    """Return what of a published kernel is the same here, and what is not, by its name."""
    theirs = _read_kernel((clone / file).read_text("utf-8"))
    name = theirs["inductor_meta.kernel_name"]
    same_name = [kernel for kernel in compiled if kernel.name == name]
    here = _read_kernel(same_name[0].source) if same_name else {}
    differs = {
        key: [theirs.get(key, "not there"), here.get(key, "not there")]
        for key in dict.fromkeys([*theirs, *here])
        if theirs.get(key, "not there") != here.get(key, "not there")
    }
    return {
        "function": case.name, "file": file, "kernel": name, "kernels_here": len(compiled),
        "compared": len(theirs), "lines": len(theirs["lines"]), "differs": differs,
    }  # fmt: skip


def _read_kernel(text: str) -> dict[str, Any]:
    """Return a kernel's settings by dotted name, as text, and its function's lines."""
    start = text.index("@triton_heuristics")
    source = re.split(r"\n'''", text[start:])[0]
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    (decorator,) = [d for d in function.decorator_list if isinstance(d, ast.Call)]
    lines = source[source.index("\ndef ") :].strip().splitlines()
    return {"heuristic": ast.unparse(decorator.func), **dict(_flat(decorator)), "lines": lines}


def _flat(node: ast.expr, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield the leaves of calls with keywords and of dicts, by dotted name."""
    if isinstance(node, ast.Call) and node.keywords:
        pairs = [(str(keyword.arg), keyword.value) for keyword in node.keywords]
    elif isinstance(node, ast.Dict) and node.keys:
        pairs = [(str(ast.literal_eval(k)), v) for k, v in zip(node.keys, node.values) if k]
    else:
        yield name, ast.unparse(node).strip("'")
        return
    for key, value in pairs:
        yield from _flat(value, f"{name}.{key}".strip("."))


def _taken(file: str, clone: Path, ours: list[Any]) -> dict[str, Any]:
    """Return settings with which Triton compiled a kernel there, and whether a kernel of this name
    has a candidate with them here.
    """
    text = (clone / file).read_text("utf-8")
    name, _, form = file.rpartition("/")[2].rpartition(".")
    if form == "json":
        settings = {k: json.loads(text)[k] for k in ("num_warps", "num_stages", "waves_per_eu")}
    else:  # %xindex = tt.make_range {end = 4096 : i32, start = 0 : i32} : tensor<4096xi32>
        (block,) = re.findall(r"%xindex = tt\.make_range \{end = (\d+)", text)
        settings = {"XBLOCK": int(block)}
    # waves_per_eu is 0 where a configuration leaves it to the backend
    candidates = [c.settings for kernel in ours if kernel.name == name for c in kernel.candidates]
    found = any(all(c.get(k, 0) == v for k, v in settings.items()) for c in candidates)
    return {"file": file, "kernel": name, "taken": settings, "candidates": len(candidates),
            "is_candidate": found}  # fmt: skip


if __name__ == "__main__":
    main()
