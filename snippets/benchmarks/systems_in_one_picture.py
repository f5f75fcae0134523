"""How many times as fast as eager each system is, read from the recording.

On one H200: a chain of pointwise operations and feed-forward blocks, each at two sizes, and a
softmax. A bar is eager's time over the system's.
"""
# tclab: reads=records/h200*/benchmarks/systems_side*/*.json

from _recorded import run_of

import tclab

measured, made = run_of("systems_side_by_side", "01-systems.json")
gains = {(function, system): gain for function, system, _, gain, _ in measured["rows"]}
functions, systems = (tuple(dict.fromkeys(names)) for names in zip(*gains, strict=True))
compared = [system for system in systems if system != "eager"]
caption = f"{made['gpu']}, PyTorch {made['torch']}, {made['date']}"
series = {system: [gains[function, system] for function in functions] for system in compared}
names = [f.removeprefix("pointwise ").replace("feed-forward ", "") for f in functions]
bars = {"x": names, "series": series, "style": "bar", "y_label": "times as fast as eager"}
tclab.show(tclab.Chart("Systems against eager", name="gains", caption=caption, **bars))

ours = [system for system in compared if system.startswith("torch.compile")]
leaders = {max(compared, key=lambda system: gains[function, system]) for function in functions}
# claim: faster-than-eager-in-each
assert all(max(gains[function, system] for system in ours) > 1 for function in functions)
# claim: no-system-leads-everywhere
assert len(leaders) > 1, leaders
# claim: no-mode-leads-the-other-everywhere
assert len({gains[f, ours[0]] > gains[f, ours[1]] for f in functions}) == 2
