"""Kernels below 85 % of the roof, each with a cause where its own numbers show one.

Looked for, in this order. Launching: the least time is below that of the cheapest compiled call,
with a launch for each further kernel. A library: Inductor wrote no kernel. Then what the kernels
that PyTorch 2.11 writes for an H200 need, counted in their text and machine code: a cause takes at
least 60 % of the measured time. Narrow loads: instructions, of a kernel that loads 16 bits at a
time. Instructions: to issue them, or the unit that has most of them. Bytes: those of each kernel's
arguments, where they are a quarter more than the fewest. Few warps: no more than a quarter of those
that fit, in a kernel with half of the bytes. Configuration: with other blocks and warps the same
kernel is recorded at 85 % or more. `best` is Inductor's best mode; nothing closes it where
nothing a tenth faster was measured.
"""
# tclab: reads=records/h200-torch2.11/*.jsonl,records/*/autotuned/*.jsonl,records/kernel_needs.json

from _needs import counted, needed
from _recorded import DESCENT, MODES, recorded, where
from _tables import table
from _waiting import Waiting

import tclab
from tclab.targets import get

book, tuned, h200, needs = recorded(), recorded("autotuned"), get("h200"), counted()
waiting, functions = Waiting(book), needs["functions"]
roof, cases, cheapest, launch = waiting.roof, waiting.kernels, waiting.cheapest, waiting.launch
TUNED, ENOUGH = ("max-autotune", DESCENT), 0.6
need_of = {label: needed(kernels, roof, h200) for label, kernels in functions.items()}


def cause(label, rows, best):
    """In a word or two."""
    eager, kernels = rows["eager"], rows["default"].facts["kernels"]
    least = roof.least_us(eager)
    if least < cheapest + max(0, kernels - 1) * launch:
        return "launching"
    if not kernels:
        return "a library's kernel"
    need = need_of.get(label)
    if need and need["computing"] > max(ENOUGH * best.us, least):
        return "narrow loads" if need["load"] <= 16 else "instructions"
    words = []
    if need and need["bytes"] > 1.25 * eager.facts["least_bytes"]:
        words += ["bytes"] if need["moving"] > ENOUGH * best.us else []
    if need and need["warps"] <= 25 and need["largest"] >= 0.5:
        words.append("few warps")
    descent = tuned.rows.get((best.case, DESCENT))
    if not words and descent and descent.ok and roof.share(eager, descent) >= 0.85:
        words.append("configuration")
    return ", ".join(words) or "open"


def closer(rows, best):
    """What is faster in a recording, with its share of the roof."""
    others = [*rows.values(), *(tuned.rows.get((best.case, mode)) for mode in TUNED)]
    others = [row for row in others if row and row.ok and row.us < 0.9 * best.us]
    if not others:
        return ""
    fastest = min(others, key=lambda row: row.us)
    names = {"triton": "by hand in Triton", "eager": "eager, without guards"}
    name = names.get(fastest.mode, fastest.mode)
    return f"{name}: {100 * roof.share(rows['eager'], fastest):.0f} %"


lines, all_needs = [], []
for name, rows in cases.items():
    label = name.removeprefix("kernels/")
    best = min((r for m, r in rows.items() if m in MODES and r.ok), key=lambda r: r.us)
    share, need = roof.share(rows["eager"], best), need_of.get(label)
    if share < 0.85:
        why = cause(label, rows, best)
        figures = roof.least_us(rows["eager"]), best.us, 100 * share
        lines.append((label, *figures, best.facts["kernels"], why, closer(rows, best)))
    if need:
        least = rows["eager"].facts["least_bytes"] / 1e6
        times = need["moving"], need["issue"], need["unit"], need["unit_us"], best.us
        bound = 100 * need["bound"] / best.us
        rest = need["load"], need["registers"], need["warps"]
        all_needs.append((label, least, need["bytes"] / 1e6, *times, bound, *rest))
columns = {"kernel": "", "roof": "µs .1f", "best": "µs .1f"}
columns |= {"share of the roof": "% .0f", "kernels": "", "cause": "", "what closes it": ""}
lines.sort(key=lambda line: (line[5], line[3]))
caption = f"{where(book)}; the cheapest compiled call took {cheapest:.1f} µs"
title = "Kernels below 85 % of the roof, and why"
tclab.show(table(title, columns, lines, name="causes", caption=caption))
every = [line[5] for line in lines]
short = [(why, every.count(why)) for why in sorted(set(every))]
tclab.show(table("By cause", {"cause": "", "kernels": ""}, short, name="short"))
columns = {"function": "", "least": "MB .0f", "arguments": "MB .0f", "to move": "µs .0f"}
columns |= {"to issue": "µs .0f", "busiest unit": "", "its time": "µs .0f"}
columns |= {"measured": "µs .0f", "explained": "% .0f", "load": "bits ", "registers": ""}
columns |= {"warps": "% "}
all_needs.sort(key=lambda line: -line[8])
made = needs["environment"]
caption = f"{h200.sm_count} multiprocessors at {h200.clocks.multiprocessor} MHz, their highest; "
caption += f"code of PyTorch {made['torch'].partition('+')[0]}, Triton {made['triton']}"
title = "What the kernels of a function need"
tclab.show(table(title, columns, all_needs, name="needs", caption=caption))
why = {line[0]: line[5] for line in lines}
needing = {line[0]: line for line in all_needs}

# claim: small-ones-are-launches
assert all(why[label] == "launching" for label in why if "@4096x1024" in label)
softmax, chain = why["softmax@16384x8192"], why["pointwise_chain@16384x8192"]
# claim: softmax-and-the-chain-are-instructions
assert softmax == chain == why["cross_entropy@8192x32000"] == "instructions"
computed = [line for label, line in needing.items() if why.get(label) == "instructions"]
# claim: loads-are-wide-and-registers-few
assert len(computed) >= 4 and all(line[9] >= 64 and line[10] <= 64 for line in computed)
assert "swiglu@16384x8192" not in why
# claim: the-one-at-the-roof-has-fewer-instructions
assert needing["swiglu@16384x8192"][4] < needing["swiglu@16384x8192"][3]
(first, *_) = functions["full_norm@16384x8192"]
assert why["full_norm@16384x8192"] == "narrow loads"
# claim: the-rest-of-a-split-makes-loads-narrow
assert first["row"] % 2 == 1 and first["load_bits"] == 16
training = need_of["layer_norm_training@16384x8192"]
# claim: the-backward-keeps-a-row-in-registers
assert training["registers"] > 128 and training["warps"] <= 25
# claim: no-kernel-is-faster-than-what-it-needs
assert all(line[8] < 110 for line in all_needs)
