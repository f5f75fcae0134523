# %% measure right: sorted by hand, with the extremes
def measure(call):
    for _ in range(3):
        call()
    times = []
    for _ in range(15):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    times.sort()
    return times[7], times[0], times[-1]


# %% measure right: torch's quantiles
def measure(call):
    call()
    call()
    times = []
    for _ in range(24):
        start = time.perf_counter_ns()
        call()
        times.append((time.perf_counter_ns() - start) / 1e9)
    low, median, high = torch.tensor(times, dtype=torch.float64).quantile(torch.tensor([0.1, 0.5, 0.9], dtype=torch.float64))
    return median, low, high


# %% measure wrong three: the median alone
def measure(call):
    times = []
    for _ in range(20):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


# %% measure wrong warm-up: from the first call on
def measure(call):
    times = []
    for _ in range(20):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times), min(times), max(times)


# %% measure wrong enough: three calls
def measure(call):
    call()
    times = []
    for _ in range(3):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times), min(times), max(times)


# %% measure wrong outlier: a mean
def measure(call):
    call()
    times = []
    for _ in range(20):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.mean(times), min(times), max(times)


# %% measure wrong spread: made up
def measure(call):
    call()
    times = []
    for _ in range(20):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    median = statistics.median(times)
    return median, 0.95 * median, 1.05 * median


# %% speedup right: an assert of one's own
def speedup(eager, compiled, x):
    difference = (eager(x) - compiled(x)).abs().max()
    assert difference < 1e-4, f"the results differ by {difference}"
    pairs = []
    for _ in range(9):
        a = time.perf_counter()
        eager(x)
        b = time.perf_counter()
        compiled(x)
        pairs.append((b - a, time.perf_counter() - b))
    return sorted(a for a, _ in pairs)[4] / sorted(b for _, b in pairs)[4]


# %% speedup right: the median of ratios
def speedup(eager, compiled, x):
    if not torch.allclose(eager(x), compiled(x), rtol=1e-4):
        raise ValueError("not the same")

    def seconds(fn):
        start = time.perf_counter()
        fn(x)
        return time.perf_counter() - start

    return statistics.median(seconds(eager) / seconds(compiled) for _ in range(11))


# %% speedup wrong direction: upside down
def speedup(eager, compiled, x):
    torch.testing.assert_close(eager(x), compiled(x))
    a, b = [], []
    for _ in range(10):
        for fn, times in ((eager, a), (compiled, b)):
            start = time.perf_counter()
            fn(x)
            times.append(time.perf_counter() - start)
    return statistics.median(b) / statistics.median(a)


# %% speedup wrong wrong-result: nothing is compared
def speedup(eager, compiled, x):
    a, b = [], []
    for _ in range(10):
        for fn, times in ((eager, a), (compiled, b)):
            start = time.perf_counter()
            fn(x)
            times.append(time.perf_counter() - start)
    return statistics.median(a) / statistics.median(b)


# %% speedup wrong before-timing: compared at the end
def speedup(eager, compiled, x):
    a, b = [], []
    for _ in range(10):
        for fn, times in ((eager, a), (compiled, b)):
            start = time.perf_counter()
            fn(x)
            times.append(time.perf_counter() - start)
    torch.testing.assert_close(eager(x), compiled(x))
    return statistics.median(a) / statistics.median(b)


# %% speedup wrong turns: one after the other
def speedup(eager, compiled, x):
    torch.testing.assert_close(eager(x), compiled(x))

    def seconds(fn):
        times = []
        for _ in range(12):
            start = time.perf_counter()
            fn(x)
            times.append(time.perf_counter() - start)
        return statistics.median(times)

    return seconds(eager) / seconds(compiled)


# %% break_even right: counted
def break_even(compile_seconds, eager, compiled):
    if compiled >= eager:
        return None
    calls = 0
    while calls * eager < compile_seconds + calls * compiled:
        calls += 1
    return calls


# %% break_even right: whole numbers
def break_even(compile_seconds, eager, compiled):
    saved = eager - compiled
    return -int(-compile_seconds // saved) if saved > 0 else float("inf")


# %% break_even wrong saving: by the eager call
def break_even(compile_seconds, eager, compiled):
    return math.ceil(compile_seconds / eager) if eager > compiled else math.inf


# %% break_even wrong whole-calls: rounded down
def break_even(compile_seconds, eager, compiled):
    return int(compile_seconds / (eager - compiled)) if eager > compiled else math.inf


# %% break_even wrong never: negative calls
def break_even(compile_seconds, eager, compiled):
    return math.ceil(compile_seconds / (eager - compiled))


# %% break_even wrong whole-calls: hard-coded
def break_even(compile_seconds, eager, compiled):
    return 20 if eager > compiled else math.inf


# %% pays_from right: from the largest down
def pays_from(sweep):
    answer = None
    for size in sorted(sweep, reverse=True):
        eager, compiled = sweep[size]
        if compiled >= eager:
            break
        answer = size
    return answer


# %% pays_from right: the next after the last slow one
def pays_from(sweep):
    sizes = sorted(sweep)
    slow = [i for i, size in enumerate(sizes) if sweep[size][1] >= sweep[size][0]]
    rest = sizes[slow[-1] + 1 :] if slow else sizes
    return rest[0] if rest else None


# %% pays_from wrong first: the largest
def pays_from(sweep):
    faster = [size for size, (eager, compiled) in sweep.items() if compiled < eager]
    return max(faster, default=None)


# %% pays_from wrong chance: the first that is faster
def pays_from(sweep):
    for size in sorted(sweep):
        if sweep[size][1] < sweep[size][0]:
            return size
    return None


# %% pays_from wrong never: the largest size whatever it says
def pays_from(sweep):
    answer = max(sweep)
    for size in sorted(sweep, reverse=True):
        if sweep[size][1] >= sweep[size][0]:
            break
        answer = size
    return answer


# %% pays_from wrong order: as the entries come
def pays_from(sweep):
    answer = None
    for size, (eager, compiled) in reversed(list(sweep.items())):
        if compiled >= eager:
            break
        answer = size
    return answer
