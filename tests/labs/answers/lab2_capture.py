# %% predict_ops right: counted turn by turn
def predict_ops(depth, gated, residual):
    count = 0
    for _ in range(depth):
        count += 2
        if gated:
            count += 2
        if residual:
            count += 1
    return count + 1


# %% predict_ops right: the names of the operations
def predict_ops(depth, gated, residual):
    turn = ["matmul", "relu"] + ["sigmoid", "mul"] * bool(gated) + ["add"] * bool(residual)
    return len(turn * depth + ["mean"])


# %% predict_ops wrong predicts: compiled and counted
def predict_ops(depth, gated, residual):
    weights = [torch.zeros(3, 3)] * depth
    c = tclab.capture(forward, backend="eager")(torch.zeros(2, 3), weights, gated, residual)
    return len(c.graphs[0])


# %% predict_ops wrong after-the-loop: the mean is forgotten
def predict_ops(depth, gated, residual):
    return depth * (2 + 2 * gated + residual)


# %% predict_ops wrong two-in-a-line: lines
def predict_ops(depth, gated, residual):
    return depth * (1 + gated + residual) + 1


# %% predict_ops wrong unrolled: the loop counted once
def predict_ops(depth, gated, residual):
    return (2 + 2 * gated + residual) * bool(depth) + 1


# %% predict_ops wrong branches: both branches
def predict_ops(depth, gated, residual):
    return depth * (2 + gated + residual) + 1


# %% count_ops right: by Dynamo's backend
def count_ops(fn, x):
    counts = []

    def backend(graph, inputs):
        counts.append(sum(n.op in ("call_function", "call_method", "call_module") for n in graph.graph.nodes))
        return graph.forward

    torch.compiler.reset()
    torch.compile(fn, backend=backend)(x)
    return sum(counts)


# %% count_ops right: the length of a graph
def count_ops(fn, x):
    return sum(map(len, tclab.capture(fn, backend="eager")(x).graphs))


# %% count_ops wrong inputs: every node
def count_ops(fn, x):
    return sum(len(graph.nodes) for graph in tclab.capture(fn, backend="eager")(x).graphs)


# %% count_ops wrong methods: functions alone
def count_ops(fn, x):
    graphs = tclab.capture(fn, backend="eager")(x).graphs
    return sum(node.op == "call_function" for graph in graphs for node in graph.nodes)


# %% count_ops wrong all-graphs: the first graph
def count_ops(fn, x):
    return len(tclab.capture(fn, backend="eager")(x).graphs[0])


# %% count_ops wrong inputs: hard-coded
def count_ops(fn, x):
    return 2


# %% nodes_of right: the last frame of FX's stack trace
def nodes_of(fn, x, line):
    names = []

    def backend(graph, inputs):
        for node in graph.graph.nodes:
            last = (node.stack_trace or "").rpartition("File ")[2].splitlines()[1:]
            if node.op.startswith("call_") and line in map(str.strip, last):
                names.append(node.name)
        return graph.forward

    torch.compiler.reset()
    torch.compile(fn, backend=backend)(x)
    return names


# %% nodes_of right: a set
def nodes_of(fn, x, line):
    nodes = tclab.capture(fn, backend="eager")(x).graphs[0].nodes
    return {n.name for n in nodes if n.op not in ("placeholder", "output") and n.source and line in n.source.code}


# %% nodes_of wrong innermost: every frame of the stack trace
def nodes_of(fn, x, line):
    names = []

    def backend(graph, inputs):
        for node in graph.graph.nodes:
            if node.op.startswith("call_") and line in (node.stack_trace or ""):
                names.append(node.name)
        return graph.forward

    torch.compiler.reset()
    torch.compile(fn, backend=backend)(x)
    return names


# %% nodes_of wrong all: the first one
def nodes_of(fn, x, line):
    nodes = tclab.capture(fn, backend="eager")(x).graphs[0].nodes
    return [n.name for n in nodes if n.op.startswith("call_") and n.source.code.strip() == line][:1]


# %% nodes_of wrong all: the operations named in the line
def nodes_of(fn, x, line):
    nodes = tclab.capture(fn, backend="eager")(x).graphs[0].nodes
    return [n.name for n in nodes if n.op.startswith("call_") and n.name.split("_")[0] in line]


# %% nodes_of wrong same-operation: by the operation
def nodes_of(fn, x, line):
    nodes = [n for n in tclab.capture(fn, backend="eager")(x).graphs[0].nodes if n.op.startswith("call_")]
    wanted = [n.target for n in nodes if n.source.code.strip() == line]
    return [n.name for n in nodes if n.target in wanted]


# %% nodes_of wrong none: the input when there is nothing
def nodes_of(fn, x, line):
    nodes = tclab.capture(fn, backend="eager")(x).graphs[0].nodes
    names = [n.name for n in nodes if n.op.startswith("call_") and n.source.code.strip() == line]
    return names or [nodes[0].name]


# %% nodes_of wrong helper: lines of the function itself
def nodes_of(fn, x, line):
    import inspect

    own = [each.strip() for each in inspect.getsource(fn).splitlines()]
    nodes = tclab.capture(fn, backend="eager")(x).graphs[0].nodes
    return [n.name for n in nodes if line in own and n.op.startswith("call_") and n.source.code.strip() == line]
