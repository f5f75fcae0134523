"""Compare the computed least cost of a call with measurements on a GPU.

``PYTHONPATH=src python -m benchmarks.floors --out FILE [NAME…]`` measures on the GPU that is here:
the time of a compiled call (median and spread of rounds that take turns with CUDA graphs), the time
that the GPU was busy, and the launches; beside them it computes the call's cost as `tclab explain`
does, and says which bound was right. What bounds a call by measurement: *launches* where the GPU
is busy for less than 60 % of the time or CUDA graphs make it more than 1.25 times as fast; else
*products* where product kernels take most of the busy time and come nearer to their rate than the
call comes to the memory's bandwidth; else *memory*. A measurement whose quartiles disagree on the
launches does not decide.

``--costs src/tclab/explain/measured_costs.json`` measures first what launches cost on the host, and
at the end what the calls attained of the device's rates: tclab computes with that file.
``--target h200`` only computes, without a GPU. ``--out`` is written after each case; ``--judge``
says the bounds of such a file again by the present rule, and writes it as records/ has it.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import multiprocessing
import os
import statistics
import sys
import time
import traceback
from dataclasses import asdict
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from tclab.system import machine

_AT_ONCE = 14
_MOST_SECONDS_TO_PREPARE = 200


def compute(case: Any, call: Any, target: Any, *, here: bool) -> dict[str, Any]:
    """Return the computed cost of a call, and its rows with their floors."""
    from tclab import targets
    from tclab.capturing import capture
    from tclab.explain.costs import FirstCall, call_cost, floor
    from tclab.model import rows_of_chains

    fn, arguments = call
    device = targets.get(target) if target else targets.find_by_device(machine.gpu_and_driver()[0])
    captured = capture(fn, backward=case.backward, target=None if here else target)(*arguments)
    chains = captured.chains(machine_code=False)
    rows = rows_of_chains(chains)
    cost = call_cost(chains, rows, device)
    if cost is None or device is None:
        raise SystemExit(f"{case.name}: the cost of a call is not known on this device")
    floors = [floor(row, device) for row in rows]
    named = [
        [r.name, r.times, r.bytes, r.operations, r.rate, f and f.seconds, f and f.bound]
        for r, f in zip(rows, floors, strict=True)
    ]
    longest = sorted(named, key=lambda row: -(row[5] or 0))[:6]
    least_work = FirstCall.select(chains, rows, device).least_work()
    work = [[*key, least] for key, least in least_work.items()]
    return {**asdict(cost), "seconds": cost.seconds, "work": work, "rows": longest}


def prepared(name: str, target: str, pipe: Connection) -> None:
    """Compile a case, and measure it on request. Sends "ready" and then the row, or an error."""
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    import torch

    from benchmarks import floors_measure as measure
    from benchmarks.floors_cases import CASES
    from benchmarks.floors_fresh import FRESH
    from benchmarks.floors_further import FURTHER
    from benchmarks.floors_held_out import HELD_OUT

    torch.set_num_threads(1)
    case = {**CASES, **FURTHER, **HELD_OUT, **FRESH}[name]
    try:
        torch.set_float32_matmul_precision("high" if case.tf32 else "highest")
        torch.manual_seed(0)
        call = case.make("cpu" if target else "cuda")
        torch.set_grad_enabled(case.backward)
        row: dict[str, Any] = {
            "name": name,
            "computed": compute(case, call, target, here=not target),
        }
        if not target:
            row |= {"rate": case.rate, **measure.count_work(case, call)}
            steps = measure.compiled_steps(case, call)
        pipe.send("ready")
        pipe.recv()
        if not target:
            row["times"] = measure.time_rounds(steps)
            row |= measure.profile(steps["default"])
        pipe.send(row)
    except BaseException:
        pipe.send({"name": name, "error": traceback.format_exc()[-1500:]})


# --------------------------------------------------------------------------- judging


def judge(row: dict[str, Any], device: Any) -> dict[str, Any]:
    """Add the measured bound of the call, and whether the computed cost was right."""
    seconds = {mode: statistics.median(times) for mode, times in row["times"].items()}
    call, graphs = seconds["default"], seconds["reduce-overhead"]
    spread = [statistics.quantiles(row["times"]["default"], n=4)[at] for at in (0, 2)]
    rate = device.operations_per_second(row["rate"]) or float("inf")
    of_rate = row["operations"] / rate
    of_bandwidth = row["bytes"] / device.clocks.bytes_per_second
    row = {**row, "seconds": call, "quartiles": spread, "graphs_seconds": graphs}
    if waits_for_host(row, call):
        bound = "launches"
    elif row["product_share"] > 0.5 and of_rate > of_bandwidth:
        bound = "products"
    else:
        bound = "memory"
    computed = row["computed"]
    return {
        **row,
        "measured_bound": bound,
        "right": is_right(bound, computed),
        "below": computed["seconds"] <= call,
    }


def waits_for_host(row: dict[str, Any], call: float) -> bool:
    """Return whether the launches bound a call that takes `call` seconds."""
    return bool(row["busy"] < 0.6 * call or call > 1.25 * row["graphs_seconds"])


def is_decided(row: dict[str, Any]) -> bool:
    """Return whether the measurement says what bounds the call: the quartiles of its seconds give
    the same answer as their median.
    """
    return len({waits_for_host(row, call) for call in (*row["quartiles"], row["seconds"])}) == 1


def is_right(bound: str, computed: dict[str, Any]) -> bool:
    """Return whether the measured bound is one of those that the computed cost names."""
    return bound in (computed["bound"], computed["second_bound"])


def run(names: list[str], target: str, keep: Any) -> None:
    """Prepare the cases side by side, then measure one after the other; `keep` gets each row."""
    context = multiprocessing.get_context("spawn")
    for start in range(0, len(names), _AT_ONCE):
        pipes: dict[Connection, Any] = {}
        for name in names[start : start + _AT_ONCE]:
            mine, theirs = context.Pipe()
            process = context.Process(target=prepared, args=(name, target, theirs))
            process.start()
            theirs.close()
            pipes[mine] = process
        for pipe in _wait_until_ready(pipes, keep):
            try:
                pipe.send("go")
                keep(pipe.recv())
            except (EOFError, BrokenPipeError):
                print("a process died while it measured", file=sys.stderr)
            pipes[pipe].join(20)
        for process in pipes.values():
            process.terminate() if process.is_alive() else None


def _wait_until_ready(pipes: dict[Connection, Any], keep: Any) -> list[Connection]:
    end, waiting = time.monotonic() + _MOST_SECONDS_TO_PREPARE, set(pipes)
    ready: list[Connection] = []
    while waiting and time.monotonic() < end:
        for pipe in wait(list(waiting), timeout=1):
            assert isinstance(pipe, Connection)
            waiting.discard(pipe)
            try:
                message = pipe.recv()
            except EOFError:
                print("a process died while it prepared", file=sys.stderr)
                continue
            if message == "ready":
                ready.append(pipe)
            else:
                keep(message)
    return ready


def describe(row: dict[str, Any]) -> str:
    """Return a row of the table in one line, in µs."""
    if "error" in row:
        return f"{row['name']}: {row['error'].splitlines()[-1]}"
    c = row["computed"]
    parts = " ".join(f"{key} {c[key] * 1e6:.1f}" for key in ("launches", "memory", "products"))
    counts = f"{c['kernels']}+{c['library_calls']} launches, {c['unknown']} unknown"
    said = " or ".join(filter(None, (c["bound"], c["second_bound"])))
    line = f"{row['name']:34} {said:9} floor {c['seconds'] * 1e6:.1f} ({parts}; {counts})"
    if "seconds" not in row:
        return line
    marks = ("" if row["right"] else " WRONG") + ("" if row["below"] else " ABOVE")
    return (
        f"{line} | {row['measured_bound']:9} {row['seconds'] * 1e6:.1f}, busy "
        f"{row['busy'] * 1e6:.1f}, graphs {row['graphs_seconds'] * 1e6:.1f}, "
        f"{row['launches']:.0f} launched{marks}"
    )


def measured_launches(processes: int = 6) -> dict[str, float]:
    """Return the least cost of launches in several processes, one after the other: a shared
    processor is not always equally fast.
    """
    from benchmarks.floors_measure import measure_launch_costs

    measured = []
    for _ in range(processes):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            measured.append(pool.apply(measure_launch_costs))
        print(" ".join(f"{name} {s * 1e6:.1f}" for name, s in measured[-1].items()), flush=True)
    return {name: min(costs[name] for costs in measured) for name in measured[0]}


_PUBLISHED = (
    *("name", "seconds", "quartiles", "busy", "graphs_seconds", "launches"),
    *("measured_bound", "below"),
)
_MOST_OF_IT = 0.8  # of the GPU's least seconds: then a call's time is that of one kind of work


def attained(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Return, for each kind of work, the least seconds divided by those that the GPU was busy: the
    median over the calls that mostly do such work and that no launches bound. For ``launches`` it
    is the least seconds divided by those of the calls that they bound.
    """
    shares: dict[str, list[float]] = {}
    for row in rows:
        least: dict[str, float] = {}
        for kind, _, seconds in row["computed"]["work"]:
            least[kind] = least.get(kind, 0.0) + seconds
        total = sum(least.values())
        if row["measured_bound"] == "launches":
            shares.setdefault("launches", []).append(row["computed"]["launches"] / row["seconds"])
            continue
        for kind, seconds in least.items():
            if seconds >= _MOST_OF_IT * total:
                shares.setdefault(kind, []).append(total / row["busy"])
    for kind, of in shares.items():
        print(kind, " ".join(f"{share:.2f}" for share in sorted(of)))
    return {kind: statistics.median(of) for kind, of in shares.items()}


def describe_environment(gpu: str) -> tuple[dict[str, str], str]:
    """Return the GPU, the CPU and the PyTorch of a run, and the day."""
    import torch

    cpu = machine.describe_cpu().partition(" (")[0]
    today = dt.datetime.now(dt.timezone.utc).date().isoformat()
    return {"gpu": gpu, "cpu": cpu, "torch": torch.__version__}, today


def judge_again(measured: dict[str, Any]) -> dict[str, Any]:
    """Return what goes into records/ of an ``--out`` file, with the bounds that the present rule
    says of its measured and computed seconds.
    """
    from tclab.explain.costs import likely_bounds

    rows = []
    for row in measured["rows"]:
        computed = dict(row["computed"])
        work = {(kind, bound): least for kind, bound, least in computed["work"]}
        computed["bound"], computed["second_bound"] = likely_bounds(computed["launches"], work)
        computed.pop("rows")
        judged = {key: row[key] for key in _PUBLISHED} | {"computed": computed}
        judged["right"] = is_right(row["measured_bound"], computed)
        rows.append(judged)
    return {**measured, "rows": rows}


def write_costs(path: Path, **measured: Any) -> None:
    """Change these costs in the file, with the provenance of this machine."""
    costs = json.loads(path.read_text(encoding="utf-8"))
    costs |= json.loads(json.dumps(measured), parse_float=lambda text: float(f"{float(text):.3g}"))
    environment, today = describe_environment(machine.gpu_and_driver()[0])
    environment["device"] = environment.pop("gpu")
    provenance = environment | {"date": today}
    path.write_text(json.dumps(costs | provenance, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Read the command line, and measure."""
    from benchmarks.floors_cases import CASES
    from benchmarks.floors_fresh import FRESH
    from benchmarks.floors_further import FURTHER
    from benchmarks.floors_held_out import HELD_OUT
    from tclab import targets

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="cases; all, if none is named")
    parser.add_argument("--out", type=Path, help="JSON file for the rows")
    parser.add_argument("--target", default="", help="only compute, for a GPU that is not here")
    parser.add_argument("--costs", type=Path, help="measure launches too, into this file")
    parser.add_argument("--suite", choices=("rules", "held-out", "fresh"), default="rules")
    parser.add_argument("--judge", type=Path, help="an --out file: judge it again, for records/")
    given = parser.parse_args()
    if given.judge:
        record = judge_again(json.loads(given.judge.read_text(encoding="utf-8")))
        given.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        return
    if given.costs:
        write_costs(given.costs, **measured_launches())
    gpu = machine.gpu_and_driver()[0]
    device = targets.get(given.target) if given.target else targets.find_by_device(gpu)
    rows: list[dict[str, Any]] = []
    environment, today = describe_environment(gpu or given.target)

    def keep(row: dict[str, Any]) -> None:
        rows.append(judge(row, device) if "times" in row else row)
        print(describe(rows[-1]), flush=True)
        if given.out:
            whole = {"environment": environment, "recorded": today, "rows": rows}
            given.out.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")

    suites = {"rules": CASES | FURTHER, "held-out": HELD_OUT, "fresh": FRESH}
    run(given.names or list(suites[given.suite]), given.target, keep)
    judged = [row for row in rows if "right" in row]
    if given.costs and judged:
        write_costs(given.costs, attained=attained(judged))
    right, below = sum(r["right"] for r in judged), sum(r["below"] for r in judged)
    print(f"{len(judged)} of {len(rows)} measured; bound right in {right}, floor below in {below}")
    decided = [row for row in judged if is_decided(row)]
    right = sum(row["right"] for row in decided)
    print(f"the measurement decides {len(decided)}; bound right in {right} of them")


if __name__ == "__main__":
    main()
