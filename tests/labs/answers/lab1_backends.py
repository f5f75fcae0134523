# %% close_enough right: a formula of one's own
def close_enough(result, expected):
    if result.shape != expected.shape:
        return False
    eps = torch.finfo(expected.dtype).eps
    scale = expected.abs().max().float()
    error = (result.float() - expected.float()).abs()
    steps = 2 if expected.dtype == torch.bfloat16 else 16
    return bool((error <= steps * eps * scale).all())


# %% close_enough right: scaled to one, then PyTorch's tolerances
def close_enough(result, expected):
    if result.shape != expected.shape:
        return False
    scale = expected.abs().max().double()
    rtol = 1.6e-2 if expected.dtype == torch.bfloat16 else 1e-5
    a, b = result.double() / scale, expected.double() / scale
    return torch.allclose(a, b, rtol=rtol, atol=rtol / 10)


# %% close_enough right: against the root mean square
def close_enough(result, expected):
    if result.shape != expected.shape:
        return False
    a, b = result.double(), expected.double()
    share = {torch.float32: 1e-5, torch.bfloat16: 1.5e-2}[expected.dtype]
    bound = share * torch.maximum(b.abs(), b.square().mean().sqrt())
    return bool(((a - b).abs() <= bound).all())


# %% close_enough wrong rounding: every bit
def close_enough(result, expected):
    return torch.equal(result, expected)


# %% close_enough wrong near-zero: relative alone
def close_enough(result, expected):
    return result.shape == expected.shape and torch.allclose(result, expected)


# %% close_enough wrong scale: absolute alone
def close_enough(result, expected):
    if result.shape != expected.shape:
        return False
    return bool(((result - expected).abs() <= 1e-5).all())


# %% close_enough wrong bfloat16: one tolerance for all
def close_enough(result, expected):
    if result.shape != expected.shape:
        return False
    return torch.allclose(result, expected, rtol=1e-5, atol=1e-6)


# %% close_enough wrong too-loose: anything near
def close_enough(result, expected):
    return result.shape == expected.shape and torch.allclose(result, expected, rtol=0.1, atol=0.1)


# %% close_enough wrong too-loose: as many steps of bfloat16 as of float32
def close_enough(result, expected):
    if result.shape != expected.shape:
        return False
    eps = torch.finfo(expected.dtype).eps
    scale = expected.abs().max().float()
    return bool(((result.float() - expected.float()).abs() <= 16 * eps * scale).all())


# %% close_enough wrong small: tolerances for values of about one
def close_enough(result, expected):
    try:
        torch.testing.assert_close(result, expected)
    except AssertionError:
        return False
    return True


# %% close_enough wrong cancels: the mean of the differences
def close_enough(result, expected):
    if result.shape != expected.shape:
        return False
    scale = expected.abs().float().mean()
    return bool((result.float() - expected.float()).mean().abs() < 2e-4 * scale)


# %% close_enough wrong shape: shapes broadcast
def close_enough(result, expected):
    rtol = 1e-5 if expected.dtype == torch.float32 else 2e-2
    return torch.allclose(result, expected, rtol=rtol, atol=0.1 * rtol * float(expected.abs().max()))


# %% first_and_later wrong fast: the least of many
def first_and_later(call):
    times = []
    for _ in range(10):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return [times[0], min(times[1:])]


# %% first_and_later right: torch's median
def first_and_later(call):
    times = []
    for _ in range(12):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return [times[0], float(torch.tensor(times[1:]).median())]


# %% first_and_later right: sorted by hand
def first_and_later(call):
    def one():
        start = time.perf_counter_ns()
        call()
        return (time.perf_counter_ns() - start) / 1e9

    first = one()
    later = sorted(one() for _ in range(7))
    return first, later[3]


# %% first_and_later wrong two-numbers: no number at all
def first_and_later(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


# %% first_and_later wrong cold: warmed up before the clock starts
def first_and_later(call):
    call()
    seconds = []
    for _ in range(8):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return seconds[0], statistics.median(seconds[1:])


# %% first_and_later wrong several: one later call
def first_and_later(call):
    start = time.perf_counter()
    call()
    middle = time.perf_counter()
    call()
    return middle - start, time.perf_counter() - middle


# %% first_and_later wrong mixed: the first among the later ones
def first_and_later(call):
    seconds = []
    for _ in range(8):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return seconds[0], sum(seconds) / len(seconds)


# %% first_and_later wrong outlier: a mean
def first_and_later(call):
    seconds = []
    for _ in range(8):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return seconds[0], statistics.mean(seconds[1:])


# %% slowest_phase right: a loop
def slowest_phase(times):
    best, most = "", -1.0
    for phase, _, seconds in times.rows:
        if phase == "Total":
            continue
        if seconds > most:
            best, most = phase, seconds
    return best


# %% slowest_phase right: sorted, the total is the first
def slowest_phase(times):
    return sorted(times.rows, key=lambda row: row[-1], reverse=True)[1][0]


# %% slowest_phase wrong total: the total wins
def slowest_phase(times):
    return max(times.rows, key=lambda row: row[2])[0]


# %% slowest_phase wrong count: the wrong column
def slowest_phase(times):
    return max((row for row in times.rows if row[0] != "Total"), key=lambda row: row[1])[0]


# %% slowest_phase wrong unseen: hard-coded
def slowest_phase(times):
    return "Inductor: code generation"


# %% slowest_phase wrong unseen: the last row
def slowest_phase(times):
    return times.rows[0][0]


# %% stages right: node by node
def stages(fn, x, backend):
    seen = set()
    c = tclab.capture(fn, backend=backend)(x)
    if len(c.graphs) > 0:
        seen.add("graph")
    if any(g.nodes for g in c.forward):
        seen.add("aten")
    if any(k.category != "extern" for k in c.kernels):
        seen.add("kernels")
    return seen


# %% stages right: by the overview
def stages(fn, x, backend):
    with tclab.capture() as c:
        torch.compiler.reset()
        torch.compile(fn, backend=backend)(x)
    counts = dict(c.overview.rows)
    found = ["graph"] if counts["Dynamo graphs"] else []
    found += ["aten"] if c.forward else []
    found += ["kernels"] if counts["generated kernels"] else []
    return found


# %% stages wrong eager: everything there may be
def stages(fn, x, backend):
    return {"graph", "aten", "kernels"}


# %% stages wrong aten: the joint graph
def stages(fn, x, backend):
    c = tclab.capture(fn, backend=backend)(x)
    there = {"graph": c.graphs, "aten": c.joint, "kernels": c.kernels}
    return {name for name, parts in there.items() if parts}


# %% stages wrong by-name: a table of names
def stages(fn, x, backend):
    known = {"eager": {"graph"}, "aot_eager": {"graph", "aten"}}
    return known.get(backend, {"graph", "aten", "kernels"})


# %% stages wrong library: calls into libraries
def stages(fn, x, backend):
    c = tclab.capture(fn, backend=backend)(x)
    there = {"graph": c.graphs, "aten": c.forward, "kernels": c.kernels}
    return {name for name, parts in there.items() if parts}
