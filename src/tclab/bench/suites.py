"""The suites: which cases, in which modes, in which order: what is worth most first. No torch."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from tclab.bench.batch import Step
from tclab.bench.case import AUTOTUNE, DEFAULT, DESCENT, DYNAMIC, EAGER, GRAPHS, Case
from tclab.bench.sizes import BATCHES, CEILINGS, KERNELS, LENGTHS, MODELS, TimedModel
from tclab.errors import BadRequest

NAMES = ("ceilings", "kernels", "sweeps", "models", "cpu")
_PLAIN = (EAGER, DEFAULT, GRAPHS)
#: Modes that time candidates while they compile.
_TUNED = (AUTOTUNE, DESCENT)
#: How large things are: of a GPU, of a CPU, and of a test.
SCALES = ("gpu", "cpu", "tiny")


def steps(suite: str, scale: str) -> list[Step]:
    """A suite's steps at a scale; BadRequest for one that is unknown."""
    if suite not in NAMES:
        raise BadRequest(f"--suite {suite}", "is no suite", f"one of: {', '.join(NAMES)}")
    makers = {
        "ceilings": _ceilings,
        "kernels": _kernels,
        "sweeps": _sweeps,
        "models": _models,
        "cpu": _cpu,
    }
    return list(makers[suite](scale))


def _ceilings(scale: str) -> Iterator[Step]:
    for name, sizes in CEILINGS.items():
        for label, size in sizes.get(scale, {}).items():
            case = Case(
                f"ceilings/{name}@{label}", f"functions.ceilings:{name}", "ceiling", (EAGER,), size
            )
            yield case, (EAGER,)


def _kernels(scale: str) -> Iterator[Step]:
    cases = list(_kernel_cases(scale))
    for case in cases:
        yield case, tuple(mode for mode in case.modes if mode not in _TUNED)
    for mode in _TUNED:
        yield from ((case, (EAGER, mode)) for case in cases)


def _kernel_cases(scale: str) -> Iterator[Case]:
    for name, kernel in KERNELS.items():
        for label, size in kernel.sizes[scale].items():
            modes = (*_PLAIN, *kernel.others, *_TUNED)
            yield Case(
                f"kernels/{name}@{label}", f"functions.kernels:{name}", "kernel", modes, size
            )


def _sweeps(scale: str) -> Iterator[Step]:
    """One model at every batch, and one at every length of its texts."""
    cases = [_batch(batch, scale) for batch in BATCHES[scale]]
    yield from ((case, _PLAIN) for case in cases)
    yield from ((case, case.modes) for case in (_length(n, scale) for n in LENGTHS[scale]))
    yield from ((case, (EAGER, AUTOTUNE)) for case in cases)


def _batch(batch: int, scale: str) -> Case:
    size: dict[str, int | str] = {"batch": batch}
    if scale != "gpu":
        size |= {"width": 64, "layers": 2}
    name, modes = f"sweep/feed_forward@{batch}", (*_PLAIN, AUTOTUNE)
    return Case(name, "models.torch_models:feed_forward", "sweep", modes, size)


def _length(tokens: int, scale: str) -> Case:
    size: dict[str, int | str] = {"batch": 4, "tokens": tokens}
    if scale != "gpu":
        size["tiny"] = 1
    modes = (*_PLAIN, DYNAMIC)
    return Case(
        f"length/transformer@{tokens}", "models.torch_models:lengths", "length", modes, size
    )


def _models(scale: str) -> Iterator[Step]:
    large = [_model(m, "inference", scale, m.large) for m in MODELS]
    training = [_model(m, "training", scale, m.train) for m in MODELS if m.train]
    single = [_model(m, "inference", scale, 1) for m in MODELS]
    for group in (large, training, single):
        yield from ((case, _PLAIN) for case in group)
    for group in (large, training, single):
        yield from ((case, (EAGER, AUTOTUNE)) for case in group)


def _model(model: TimedModel, phase: str, scale: str, batch: int) -> Case:
    size: dict[str, int | str] = {**model.size, "batch": batch if scale == "gpu" else min(batch, 2)}
    if scale == "tiny":
        size["tiny"] = 1
    builder = model.builder if phase == "inference" else f"{model.builder}_training"
    name = f"{phase}/{model.name}@{size['batch']}"
    return Case(name, builder, phase, (*_PLAIN, AUTOTUNE), size, model.needs)


def _cpu(scale: str) -> Iterator[Step]:
    """Kernels and torch's own models on a CPU, eager and default: CUDA graphs are a GPU's."""
    scale = "cpu" if scale == "gpu" else scale
    yield from _ceilings(scale)
    modes = (EAGER, DEFAULT)
    for case in _kernel_cases(scale):
        yield case, modes
    for model in MODELS:
        if model.cpu:
            yield _model(model, "inference", scale, 1), modes
            yield _model(model, "training", scale, 2), modes


def chosen(every: Iterable[Step], patterns: Iterable[str]) -> list[Step]:
    """The steps whose case contains one of the patterns; all where there is none."""
    patterns = list(patterns)
    return [s for s in every if not patterns or any(p in s[0].name for p in patterns)]


def in_modes(every: Iterable[Step], modes: Collection[str]) -> list[Step]:
    """The steps with eager and these modes alone; all of them where none is named."""
    if not modes:
        return list(every)
    fewer = ((case, tuple(m for m in own if m == EAGER or m in modes)) for case, own in every)
    return [step for step in fewer if len(step[1]) > 1 or EAGER in modes]


def tuned_last(every: Iterable[Step]) -> list[Step]:
    """The same in the same order, but last what times candidates: it takes the longest."""
    return sorted(every, key=lambda step: any(mode in step[1] for mode in _TUNED))


def missing(every: Iterable[Step], rows: Collection[tuple[str, str]]) -> list[Step]:
    """What of the steps has no row yet, each case and mode once; eager comes along, since the
    others are held against it.
    """
    planned, todo = set(rows), []
    for case, modes in every:
        lacking = tuple(mode for mode in modes if (case.name, mode) not in planned)
        if lacking:
            todo.append((case, tuple(dict.fromkeys((EAGER, *lacking)))))
            planned |= {(case.name, mode) for mode in todo[-1][1]}
    return todo
