# tclab: needs=cxx,triton timeout=180

# %% [markdown]
# # Lab 4 · Generated code
#
# After this lab you can say what fuses and how many bytes move before you look, change code so
# that a fusion appears, and follow a line of Python to its instructions. No GPU is needed: the
# kernels are those of an H200, made by the compiler for it.

# %%
import re

import torch

import tclab


# %% [markdown]
# ## What fuses
#
# *Predict first:* three operations, one function. How many kernels on a CPU, how many on an H200?

# %%
def gate(x, bias):
    return torch.nn.functional.gelu(x + bias) * x


# %% tags=["try"]
torch.manual_seed(0)
x, bias = torch.randn(256, 768), torch.randn(768)
on_cpu = tclab.capture(gate)(x, bias)
on_h200 = tclab.capture(gate, target="h200")(x, bias)
tclab.show(on_h200.kernels, name="triton")
tclab.show(on_cpu.kernels, name="cpp")
# claim: one-kernel-each
assert len(on_cpu.kernels) == len(on_h200.kernels) == 1
triton = on_h200.kernels[0]
# claim: x-is-loaded-once
assert triton.code.count("tl.load(") == 2 and triton.code.count("tl.store(") == 1

# %% [markdown]
# [One kernel each.](claim:labs/lab4_code#one-kernel-each) [The Triton kernel has two loads and a
# store](claim:labs/lab4_code#x-is-loaded-once): `x` is used twice and loaded once.
#
# ## Exercise 1: how many bytes move
#
# Write `bytes_moved(rows, columns, itemsize, fused)` for `gate` with `x` of shape `[rows,
# columns]`: the bytes read and written in all. With `fused` by one kernel, else by one kernel for
# each of the three operations. Count an input once a kernel, however many rows share it.

# %% tags=["exercise"]
def bytes_moved(rows, columns, itemsize, fused):
    """Bytes that `gate` reads and writes."""
    ### BEGIN SOLUTION
    x, bias = rows * columns, columns
    if fused:
        elements = x + bias + x
    else:
        add, gelu, mul = x + bias + x, x + x, x + x + x
        elements = add + gelu + mul
    return elements * itemsize
    ### END SOLUTION


# %% tags=["try"]
fused, apart = (bytes_moved(256, 768, 4, fused) for fused in (True, False))
print(f"fused {fused:,} bytes, apart {apart:,}: {apart / fused:.1f} times as many")
# claim: fusion-saves-traffic
assert apart > 3 * fused

# %% [markdown]
# [Apart, the operations move more than three times as many
# bytes](claim:labs/lab4_code#fusion-saves-traffic): each result goes to memory and comes back.
#
# ## Exercise 2: make a fusion appear
#
# `scaled_as_it_was` scales the columns of `x` by a product with a diagonal matrix. *Predict
# first:* which kernels does it have on an H200? Then write `scaled(x, scale, bias)`: the same
# results, one kernel, no call into a library.

# %%
def scaled_as_it_was(x, scale, bias):
    return torch.relu(x @ torch.diag(scale) + bias)


# %% tags=["try"]
args = torch.randn(64, 96), torch.randn(96), torch.randn(96)
was = tclab.capture(scaled_as_it_was, target="h200")(*args)
rows = [{"kernel": kernel.kernel_name, "what": kernel.category} for kernel in was.kernels]
tclab.show(rows, title="Kernels as it was")
# claim: a-product-does-not-fuse
assert [kernel.category for kernel in was.kernels] == ["pointwise", "extern", "pointwise"]

# %% tags=["exercise"]
def scaled(x, scale, bias):
    """relu of `x` with its columns scaled, plus `bias`."""
    ### BEGIN SOLUTION
    return torch.relu(x * scale + bias)
    ### END SOLUTION


# %% tags=["try"]
torch.testing.assert_close(scaled(*args), scaled_as_it_was(*args), rtol=1e-4, atol=1e-5)
mended = tclab.capture(scaled, target="h200")(*args)
tclab.show(mended.kernels, name="mended")
# claim: element-by-element-fuses
assert [kernel.category for kernel in mended.kernels] == ["pointwise"]

# %% [markdown]
# [The diagonal matrix was built by one kernel, a library multiplied, a third kernel did the
# rest](claim:labs/lab4_code#a-product-does-not-fuse). [Element by element it is one
# kernel.](claim:labs/lab4_code#element-by-element-fuses)
#
# A break divides `gate`, too. *Predict first:* how many kernels, and which operations in each?

# %% tags=["try"]
def gate_in_two(x, bias):
    y = x + bias
    torch._dynamo.graph_break()
    return torch.nn.functional.gelu(y) * x


in_two = tclab.capture(gate_in_two, target="h200")(x, bias)
print("\n".join(kernel.kernel_name for kernel in in_two.kernels))
# claim: a-break-stops-a-fusion
assert len(in_two.kernels) == 2

# %% [markdown]
# [Two kernels](claim:labs/lab4_code#a-break-stops-a-fusion): no graph holds all three operations.
#
# ## A line of Python in the machine code
#
# A capture links its stages: `capture.chains()[0]` has a pane for each, from Python to SASS. A
# line of a pane has `links`, the keys of what it was made from; the lines that carry such a key
# are in `marks` of another pane. `python_lines` follows the links up to Python.

# %%
def wave(x, bias):
    shifted = x + bias
    return torch.exp(-shifted) * x


def pane(chain, stage):
    """The first pane of a stage, such as python, kernel, ptx, sass."""
    return next(each for each in chain.panes if each.stage == stage)


def python_lines(chain, at, number):
    """Which lines of the python pane (from 1) line `number` of the pane `at` was made from."""
    marked = {}
    for each in chain.panes:
        for line, keys in each.marks.items():
            for key in keys:
                marked.setdefault(key, []).append((each, line))
    todo, seen, lines = [(at, number)], set(), set()
    while todo:
        each, line = todo.pop()
        if (id(each), line) not in seen:
            seen.add((id(each), line))
            todo += [found for key in each.links.get(line, ()) for found in marked.get(key, ())]
            if each.stage == "python":
                lines.add(line)
    return lines


def opcode(text):
    """The opcode of a line of SASS, such as MUFU.EX2; '' for a line without an instruction."""
    match = re.match(r"\s*/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+ )?([A-Z][A-Z0-9.]*)", text)
    return match[1] if match else ""


# %% tags=["try"]
chain = tclab.capture(wave, target="h200")(x, bias).chains()[0]
tclab.show(chain)

# %% [markdown]
# ## Exercise 3: the instructions of a line
#
# Write `opcodes_of(capture, line)`: the set of opcodes of the machine code that one line of Python
# became. `line` is the line's text without the spaces around it.

# %% tags=["exercise"]
def opcodes_of(capture, line):
    """The opcodes of the SASS that `line` became."""
    ### BEGIN SOLUTION
    chain = capture.chains()[0]
    python, sass = pane(chain, "python"), pane(chain, "sass")
    texts = [text.strip() for text in python.code.splitlines()]
    number = texts.index(line) + 1
    return {
        opcode(text)
        for at, text in enumerate(sass.code.splitlines(), 1)
        if opcode(text) and number in python_lines(chain, sass, at)
    }
    ### END SOLUTION


# %% tags=["try"]
wave_on_h200 = tclab.capture(wave, target="h200")(x, bias)
added = opcodes_of(wave_on_h200, "shifted = x + bias")
grown = opcodes_of(wave_on_h200, "return torch.exp(-shifted) * x")
print("x + bias:           ", ", ".join(sorted(added)))
print("exp(-shifted) * x:  ", ", ".join(sorted(grown)))
# claim: exp-is-one-instruction
assert "MUFU.EX2" in grown and "MUFU.EX2" not in added
# claim: the-addition-is-fadd
assert "FADD" in added

# %% [markdown]
# [The addition became `FADD`](claim:labs/lab4_code#the-addition-is-fadd), [the exponential
# `MUFU.EX2`](claim:labs/lab4_code#exp-is-one-instruction), which raises 2 to a power; the line's
# other instructions scale for that, multiply and store.
#
# ## Key questions
#
# <details><summary>Why does fusion help most where little is computed?</summary>
#
# [It saves trips to memory](claim:labs/lab4_code#fusion-saves-traffic), and a chain of element-wise
# operations does little else.
#
# </details>
#
# <details><summary>What stops a fusion?</summary>
#
# [A call into a library stands between two kernels](claim:labs/lab4_code#a-product-does-not-fuse),
# and so does a graph break: [with one in its midst, `gate` has two
# kernels.](claim:labs/lab4_code#a-break-stops-a-fusion)
#
# </details>
#
# <details><summary>Can two uses of a tensor cost one load?</summary>
#
# Within a kernel, yes: [that of `gate` uses `x` twice and loads it
# once.](claim:labs/lab4_code#x-is-loaded-once)
#
# </details>
