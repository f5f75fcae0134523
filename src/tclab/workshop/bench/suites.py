"""Define the suites: their cases and modes, the most useful ones first. This module imports no
torch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from tclab.errors import BadRequest
from tclab.model import DEFAULT, EAGER, GRAPHS
from tclab.workshop.bench.batch import Step
from tclab.workshop.bench.case import AUTOTUNE, DESCENT, DYNAMIC, Case
from tclab.workshop.bench.sizes import BATCHES, CEILINGS, KERNELS, LENGTHS, MODELS, TimedModel

NAMES = ("ceilings", "kernels", "sweeps", "models", "cpu")
_PLAIN_MODES = (EAGER, DEFAULT, GRAPHS)
#: Modes that time candidates while they compile.
_TUNED_MODES = (AUTOTUNE, DESCENT)
#: The scales of sizes: for a GPU, for a CPU, for a test.
SCALES = ("gpu", "cpu", "tiny")


def list_steps(suite: str, scale: str) -> list[Step]:
    """Return a suite's steps at a scale. Raises BadRequest if there is no suite of this name."""
    if suite not in NAMES:
        raise BadRequest(f"--suite {suite}", "is no suite", f"one of: {', '.join(NAMES)}")
    makers = {
        "ceilings": _list_ceilings,
        "kernels": _list_kernels,
        "sweeps": _list_sweeps,
        "models": _list_models,
        "cpu": _list_cpu_steps,
    }
    return list(makers[suite](scale))


def _list_ceilings(scale: str) -> Iterator[Step]:
    for name, sizes in CEILINGS.items():
        for label, size in sizes.get(scale, {}).items():
            case = Case(
                f"ceilings/{name}@{label}", f"functions.ceilings:{name}", "ceiling", (EAGER,), size
            )
            yield case, (EAGER,)


def _list_kernels(scale: str) -> Iterator[Step]:
    cases = list(_kernel_cases(scale))
    for case in cases:
        yield case, tuple(mode for mode in case.modes if mode not in _TUNED_MODES)
    for mode in _TUNED_MODES:
        yield from ((case, (EAGER, mode)) for case in cases)


def _kernel_cases(scale: str) -> Iterator[Case]:
    for name, kernel in KERNELS.items():
        for label, size in kernel.sizes[scale].items():
            modes = (*_PLAIN_MODES, *kernel.other_modes, *_TUNED_MODES)
            yield Case(
                f"kernels/{name}@{label}", f"functions.kernels:{name}", "kernel", modes, size
            )


def _list_sweeps(scale: str) -> Iterator[Step]:
    """Yield one model at each batch, and one at each length of its texts."""
    cases = [_batch_case(batch, scale) for batch in BATCHES[scale]]
    yield from ((case, _PLAIN_MODES) for case in cases)
    yield from ((case, case.modes) for case in (_length_case(n, scale) for n in LENGTHS[scale]))
    yield from ((case, (EAGER, AUTOTUNE)) for case in cases)


def _batch_case(batch: int, scale: str) -> Case:
    size: dict[str, int | str] = {"batch": batch}
    if scale != "gpu":
        size |= {"width": 64, "layers": 2}
    name, modes = f"sweep/feed_forward@{batch}", (*_PLAIN_MODES, AUTOTUNE)
    return Case(name, "models.torch_models:feed_forward", "sweep", modes, size)


def _length_case(tokens: int, scale: str) -> Case:
    size: dict[str, int | str] = {"batch": 4, "tokens": tokens}
    if scale != "gpu":
        size["tiny"] = 1
    modes = (*_PLAIN_MODES, DYNAMIC)
    return Case(
        f"length/transformer@{tokens}",
        "models.torch_models:transformer_of_length",
        "length",
        modes,
        size,
    )


def _list_models(scale: str) -> Iterator[Step]:
    large = [_model_case(m, "inference", scale, m.large) for m in MODELS]
    training = [_model_case(m, "training", scale, m.train) for m in MODELS if m.train]
    single = [_model_case(m, "inference", scale, 1) for m in MODELS]
    for group in (large, training, single):
        yield from ((case, _PLAIN_MODES) for case in group)
    for group in (large, training, single):
        yield from ((case, (EAGER, AUTOTUNE)) for case in group)


def _model_case(model: TimedModel, phase: str, scale: str, batch: int) -> Case:
    size: dict[str, int | str] = {**model.size, "batch": batch if scale == "gpu" else min(batch, 2)}
    if scale == "tiny":
        size["tiny"] = 1
    builder = model.builder if phase == "inference" else f"{model.builder}_training"
    name = f"{phase}/{model.name}@{size['batch']}"
    return Case(name, builder, phase, (*_PLAIN_MODES, AUTOTUNE), size, model.needs)


def _list_cpu_steps(scale: str) -> Iterator[Step]:
    """Yield kernels and torch's own models on a CPU, in eager and default mode."""
    scale = "cpu" if scale == "gpu" else scale
    yield from _list_ceilings(scale)
    modes = (EAGER, DEFAULT)
    for case in _kernel_cases(scale):
        yield case, modes
    for model in MODELS:
        if model.cpu:
            yield _model_case(model, "inference", scale, 1), modes
            yield _model_case(model, "training", scale, 2), modes


def select_cases(steps: Iterable[Step], patterns: Iterable[str]) -> list[Step]:
    """Return the steps whose case has a name that contains one of the patterns; all steps without
    patterns.
    """
    patterns = list(patterns)
    return [s for s in steps if not patterns or any(p in s[0].name for p in patterns)]


def select_modes(steps: Iterable[Step], modes: Collection[str]) -> list[Step]:
    """Return the steps with only eager and these modes; with all modes if `modes` is empty."""
    if not modes:
        return list(steps)
    fewer = ((case, tuple(m for m in own if m == EAGER or m in modes)) for case, own in steps)
    return [step for step in fewer if len(step[1]) > 1 or EAGER in modes]


def put_tuned_last(steps: Iterable[Step]) -> list[Step]:
    """Move the steps with autotuning to the end: these steps time several candidates for each
    kernel, so they take the longest.
    """
    return sorted(steps, key=lambda step: any(mode in step[1] for mode in _TUNED_MODES))


def select_missing(steps: Iterable[Step], rows: Collection[tuple[str, str]]) -> list[Step]:
    """Return the steps with only the modes that have no row yet, without repeated cases and modes.

    Each step contains eager, because the other modes are compared with eager.
    """
    planned, todo = set(rows), []
    for case, modes in steps:
        lacking = tuple(mode for mode in modes if (case.name, mode) not in planned)
        if lacking:
            todo.append((case, tuple(dict.fromkeys((EAGER, *lacking)))))
            planned |= {(case.name, mode) for mode in todo[-1][1]}
    return todo
