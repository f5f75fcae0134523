# %% bytes_moved right: in one expression
def bytes_moved(rows, columns, itemsize, fused):
    return itemsize * columns * ((2 if fused else 7) * rows + 1)


# %% bytes_moved right: by tensors
def bytes_moved(rows, columns, itemsize, fused):
    shapes = {"x": rows * columns, "b": columns, "t": rows * columns}
    kernels = ["xbt"] if fused else ["xbt", "tt", "txt"]
    return sum(shapes[name] * itemsize for kernel in kernels for name in kernel)


# %% bytes_moved wrong bytes: elements
def bytes_moved(rows, columns, itemsize, fused):
    return columns * ((2 if fused else 7) * rows + 1)


# %% bytes_moved wrong write: reads alone
def bytes_moved(rows, columns, itemsize, fused):
    return itemsize * (rows * columns + columns)


# %% bytes_moved wrong read-once: x twice
def bytes_moved(rows, columns, itemsize, fused):
    return itemsize * columns * ((3 if fused else 7) * rows + 1)


# %% bytes_moved wrong bias: the bias is forgotten
def bytes_moved(rows, columns, itemsize, fused):
    return itemsize * columns * (2 if fused else 7) * rows


# %% bytes_moved wrong unfused: always fused
def bytes_moved(rows, columns, itemsize, fused):
    return itemsize * columns * (2 * rows + 1)


# %% scaled right: addcmul
def scaled(x, scale, bias):
    return torch.addcmul(bias, x, scale).clamp(min=0)


# %% scaled right: einsum
def scaled(x, scale, bias):
    return (torch.einsum("ij,j->ij", x, scale) + bias).relu()


# %% scaled wrong columns: the rows
def scaled(x, scale, bias):
    return torch.relu(x * scale[: x.shape[0], None] + bias)


# %% scaled wrong result: without the bias
def scaled(x, scale, bias):
    return torch.relu(x * scale)


# %% scaled wrong library: as it was
def scaled(x, scale, bias):
    return torch.relu(x @ torch.diag(scale) + bias)


# %% scaled wrong one-kernel: in two pieces
def scaled(x, scale, bias):
    product = x * scale
    torch._dynamo.graph_break()
    return torch.relu(product + bias)


# %% opcodes_of right: line by line
def opcodes_of(capture, line):
    chain = capture.chains()[0]
    source, machine = pane(chain, "python"), pane(chain, "sass")
    wanted = {n for n, text in enumerate(source.code.split("\n"), 1) if text.strip() == line}
    opcodes = set()
    for number, text in enumerate(machine.code.split("\n"), 1):
        if wanted & python_lines(chain, machine, number) and opcode(text):
            opcodes.add(opcode(text))
    return opcodes


# %% opcodes_of right: without the modifiers, as a list
def opcodes_of(capture, line):
    chain = capture.chains()[0]
    machine = pane(chain, "sass")
    number = [text.strip() for text in pane(chain, "python").code.splitlines()].index(line) + 1
    texts = machine.code.splitlines()
    lines = [n for n in machine.links if number in python_lines(chain, machine, n)]
    return sorted({opcode(texts[n - 1]).split(".")[0] for n in lines} - {""})


# %% opcodes_of wrong found: the PTX
def opcodes_of(capture, line):
    chain = capture.chains()[0]
    ptx = pane(chain, "ptx")
    number = [text.strip() for text in pane(chain, "python").code.splitlines()].index(line) + 1
    texts = ptx.code.splitlines()
    return {texts[n - 1].split()[0] for n in ptx.links if number in python_lines(chain, ptx, n)}


# %% opcodes_of wrong others: all of the kernel
def opcodes_of(capture, line):
    sass = pane(capture.chains()[0], "sass")
    return {opcode(text) for text in sass.code.splitlines()} - {""}


# %% opcodes_of wrong others: hard-coded
def opcodes_of(capture, line):
    return {"MUFU.EX2", "FADD"}


# %% opcodes_of wrong none: what is not found is an error
def opcodes_of(capture, line):
    chain = capture.chains()[0]
    sass = pane(chain, "sass")
    texts = [text.strip() for text in pane(chain, "python").code.splitlines()]
    number = texts.index(line) + 1
    there = {opcode(text) for n, text in enumerate(sass.code.splitlines(), 1)
             if number in python_lines(chain, sass, n)} - {""}
    return there or {"MOV"}


# %% opcodes_of wrong store: guessed from the words of the line
def opcodes_of(capture, line):
    opcodes = {"exp": "MUFU.EX2", "rsqrt": "MUFU.RSQ", "+": "FADD"}
    return {opcode for word, opcode in opcodes.items() if word in line}
