"""The devices, what is known of each, and where from.

What a target answers when Inductor asks for the properties of the GPU. Inductor also estimates
times, from a bandwidth and from a rate of arithmetic, where it orders nodes or pads products.
`sm_90` and its like name an architecture, not a device: they stand for the device in the last
table. A GPU whose instructions the tools in Triton's wheel do not know is refused.
"""
# tclab: needs=triton

import tempfile
from pathlib import Path

import torch
import triton

import tclab
from tclab import targets
from tclab.capturing.target.device import device_properties
from tclab.targets import files

known = {name: t.facts() for name, t in targets.TARGETS.items()}
# claim: each-number-has-a-source
assert all(facts["source"] for facts in known.values())
newer = {name for name, t in targets.TARGETS.items() if t.capability >= (9, 0)}
for title, name, those in (
    ("Compute capability 9.0 and later", "devices", newer),
    ("Compute capability below 9.0", "older-devices", known.keys() - newer),
):
    tclab.show(tclab.Table(
        title=title, name=name,
        columns=("target", "device", "sm", "multiprocessors", "clock", "memory", "bandwidth", "L2",
                 "shared memory"),
        units=("", "", "", "", "MHz", "GiB", "GB/s", "MiB", "KiB a block"),
        formats=(*[""] * 5, ".0f", ".0f", "g", ""),
        rows=[(name, t.device.removeprefix("NVIDIA "), known[name]["compute capability"],
               t.sm_count, t.clocks.multiprocessor, t.memory_bytes / 2**30,
               t.clocks.bytes_per_second / 1e9, t.l2_bytes / 2**20,
               t.architecture.shared_memory_per_block_optin // 2**10)
              for name, t in targets.TARGETS.items() if name in those],
    ))  # fmt: skip
tclab.show(tclab.Table(
    title="Where the numbers are from", name="sources", columns=("target", "source"),
    rows=[(name, facts["source"]) for name, facts in known.items()],
    caption="Registers, threads and shared memory: CUDA C++ Programming Guide, Compute "
            "Capabilities. Clocks are the highest; bandwidth is computed from clock and bus.",
))  # fmt: skip
bare = [name for name in targets.names() if name not in targets.TARGETS]
tclab.show(tclab.Table(
    title="Architectures", name="architectures", columns=("target", "has the numbers of"),
    rows=[(name, targets.get(name).device) for name in bare],
))  # fmt: skip

# claim: each-capability-has-a-name
assert {targets.get(name).capability for name in bare} == {
    t.capability for t in targets.TARGETS.values()
}
assert {targets.get(name).device for name in bare} <= {f["device"] for f in known.values()}

refused = set()
for name in ("v100", "b300", "gb10", "thor"):
    try:
        tclab.capture(torch.relu, target=name)(torch.ones(4))
    except targets.TargetError as error:
        assert f"'{name}'" in str(error) and f"knows no sm_{targets.get(name).arch}" in str(error)
        refused.add(name)
older = tuple(map(int, triton.__version__.split(".")[:2])) < (3, 7)
# claim: what-tritons-tools-do-not-know-is-refused-by-name
assert refused == ({"b300", "gb10", "thor"} if older else {"v100"})

# What the driver says of a GPU that is in no list, in a file.
mine = targets.TARGETS["rtx4090"]
said = device_properties(mine)
said.name, said.multi_processor_count = "NVIDIA GeForce RTX 4090 D", 114
file = Path(tempfile.mkdtemp()) / "mine.json"
file.write_text(files.text(said))
from_file = targets.get(str(file))
# claim: a-file-is-a-target-with-its-own-numbers
assert (from_file.sm_count, from_file.device) == (114, said.name) and mine.sm_count == 128
made = tclab.capture(torch.relu, target=str(file))(torch.ones(4))
# claim: and-gets-kernels
assert "multi_processor_count=114" in made.kernels[0].code
