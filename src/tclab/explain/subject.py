"""Find the function, module, class of modules or factory of modules to explain."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tclab.errors import ExplainError
from tclab.explain import inputs, own_compiles
from tclab.explain.inputs import Calls, MakeCalls, Spec
from tclab.explain.load import find_object, find_user_line, last_line, split
from tclab.explain.seeds import seeded
from tclab.explain.uncalled import CompileCall

if TYPE_CHECKING:
    from tclab.explain.request import ExplainRequest

_DO_NOT_FETCH = (
    "make it without what is fetched or read there: random weights have the same kernels"
)
_COMPILED = (
    "The file calls torch.compile itself; for a target this is compiled as a whole instead, with "
    "the options given here."
)
_DISABLED = "torch.compiler.disable was applied to it: nothing of it is compiled"
_TRAINING = (
    "The module is in training mode, as {} in it shows: --eval puts it into eval mode, as for "
    "inference."
)
_GENERATOR = (
    "A generator function: a call makes a generator and runs none of its code. To see that "
    "compiled, name a function that goes through it: for value in …."
)


@dataclass(frozen=True)
class Subject:
    """The function or module to compile and its calls. `remarks` tell the reader how tclab obtained
    it.
    """

    title: str  # the name that the user gave
    place: str  # the place in errors: FILE.py:NAME
    callable: Callable[..., object]
    calls: MakeCalls
    remarks: tuple[str, ...] = ()
    own: own_compiles.ReachableCompiles = (
        own_compiles.NOTHING
    )  # the compiled objects that a call can reach

    def compiled_whole(self) -> Subject:
        """Return the subject without its own torch.compile, so that it is compiled as a whole.
        Inner parts that it compiles itself are part of that compile.
        """
        if not self.own:
            return self
        remarks = (*self.remarks, _COMPILED)
        inner = strip_compile(self.callable, self.place)
        return replace(self, callable=inner, remarks=remarks, own=own_compiles.NOTHING)

    @property
    def parameters(self) -> list[Any]:
        """The module's parameters; empty for a function."""
        return list(getattr(self.callable, "parameters", list)()) if self.is_module else []

    @property
    def is_module(self) -> bool:
        return is_module(self.callable)


def find_requested(
    module: ModuleType, request: ExplainRequest, compile_calls: Sequence[CompileCall] = ()
) -> Subject:
    """Return what a request names in its imported file or module, as `find` does."""
    file_or_module, name = split(request.spec)
    return find(
        module,
        file_or_module,
        name,
        request.inputs,
        grad=request.backward,
        eval_mode=request.eval_mode,
        compile_calls=compile_calls,
    )


def find(
    module: ModuleType,
    file_or_module: str,
    name: str,
    specs: Sequence[Spec],
    *,
    grad: bool,
    eval_mode: bool = False,
    compile_calls: Sequence[CompileCall] = (),
) -> Subject:
    """Return the object `name` of a file or module as something to call, with the calls to make.
    With `eval_mode` a module is put into eval mode; for anything else ExplainError is raised.
    `compile_calls` are the calls of torch.compile at import; those that a factory makes are added
    when the factory is called.
    """
    place = f"{file_or_module}:{name}"
    given = find_object(module, name, file_or_module)
    value, remarks = _find_callable(given, place, own_inputs=bool(specs) or has_examples(module))
    inner = strip_compile(value, place)
    if eval_mode:
        _enter_eval_mode((value, inner), place)
    calls = _choose_call_maker(module, file_or_module, inner, specs, place, grad)
    function = inner.forward if is_module(inner) else inner
    inputs.check_fit(function, calls(), place)
    remarks = (*remarks, *_generator_remark(function), *_training_remark(inner))
    return Subject(name, place, value, calls, remarks, own_compiles.find(value, compile_calls))


def _generator_remark(function: Callable[..., object]) -> tuple[str, ...]:
    """Return a remark if the function is a generator, since a call of a generator runs none of its
    code.
    """
    function = inspect.unwrap(function)
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        return (_GENERATOR,)
    return ()


def _enter_eval_mode(values: Sequence[Any], place: str) -> None:
    """Put the modules among `values` into eval mode. The values are the object that the reader
    names, and the original that torch.compile wrapped in it.
    """
    modules = list(filter(is_module, values))
    for module in modules:
        module.eval()
    if not modules:
        step = "name the module; or leave --eval out, and call eval() in the file"
        raise ExplainError(place, "--eval: only an nn.Module has an eval mode", step)


def _training_remark(value: object) -> tuple[str, ...]:
    """Return a remark if the value is a module in training mode with a module in it that does
    something else in eval mode.
    """
    import torch

    nn = torch.nn
    switched = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout,
                nn.FeatureAlphaDropout, nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d,
                nn.SyncBatchNorm)  # fmt: skip
    modules = value.modules() if isinstance(value, nn.Module) else ()
    found = {type(m).__name__ for m in modules if m.training and isinstance(m, switched)}
    return (_TRAINING.format(" and ".join(sorted(found))),) if found else ()


def has_examples(module: ModuleType) -> bool:
    return hasattr(module, "example_inputs")


def is_module(value: object) -> bool:
    """Return whether the value is an nn.Module."""
    import torch

    return isinstance(value, torch.nn.Module)


# --------------------------------------------------------------------------- the callable


def strip_compile(value: Any, place: str) -> Any:
    """Return the object to which torch.compile was applied, or the value itself if it was not
    compiled. Raises ExplainError if torch.compiler.disable was applied to it.
    """
    from tclab.capturing.torch_private import switches

    if switches.is_disabled(value):
        raise ExplainError(place, _DISABLED, "take it off, or name what is under it")
    inner = getattr(value, "_torchdynamo_orig_callable", None) or getattr(value, "_orig_mod", None)
    return value if inner is None or isinstance(value, type) else inner


def _find_callable(value: object, place: str, *, own_inputs: bool) -> tuple[Any, tuple[str, ...]]:
    import torch

    if isinstance(value, type):
        if not issubclass(value, torch.nn.Module):
            raise ExplainError(place, f"a class ({value.__name__}) that is no nn.Module",
                               "name a function, a method or an nn.Module")  # fmt: skip
        return _construct(value, place), (f"An instance was made with {value.__name__}().",)
    if not callable(value):
        raise ExplainError(place, f"of type {type(value).__name__}, which cannot be called",
                           "name a function or an nn.Module")  # fmt: skip
    if is_module(value) or not _may_be_factory(value, own_inputs):
        return value, ()
    return _call_factory(value, place)


def _construct(cls: type, place: str) -> object:
    try:
        inspect.signature(cls).bind()
    except TypeError as error:
        raise ExplainError(
            place, f"{cls.__name__}() cannot be made without arguments: {error}",
            f"write a function that makes one, def make(): return {cls.__name__}(…), and name that",
        ) from None  # fmt: skip
    return _call_maker(cls, place)


def _call_maker(maker: Callable[[], object], place: str) -> object:
    """Return the result of `maker`, called with seed 0 so that weights are always the same."""
    try:
        with seeded():
            return maker()
    except (Exception, SystemExit) as error:
        at = find_user_line(error) or place
        step = _DO_NOT_FETCH if isinstance(error, OSError) else "correct the line"
        raise ExplainError(at, f"{place} raised: {last_line(error)}", step) from error


def _may_be_factory(function: Callable[..., object], own_inputs: bool) -> bool:
    """Return whether the function may return a module. It may if it has no parameters, or if it has
    no required parameters and the given inputs are for its result.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    if any(p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
           for p in parameters):  # fmt: skip
        return False
    return own_inputs or not list(parameters)


def _call_factory(function: Any, place: str) -> tuple[Any, tuple[str, ...]]:
    """Call a function that may be a factory. Return the module that it returns and a remark for the
    report. If the function is no factory, return the function itself without a remark.
    """
    parameters = inspect.signature(function).parameters
    try:
        module = _call_maker(function, place)
    except ExplainError:
        if parameters:  # the given inputs are for the function itself, so it is no factory
            return function, ()
        raise
    if not is_module(module):
        return function, ()
    return module, (f"The module is what {function.__name__}() returned.",)


# --------------------------------------------------------------------------- its calls


def _choose_call_maker(
    module: ModuleType,
    file_or_module: str,
    value: Any,
    specs: Sequence[Spec],
    place: str,
    grad: bool,
) -> MakeCalls:
    if specs:
        weights = list(value.parameters()) if is_module(value) else []
        device = weights[0].device if weights else None
        grad = grad and not any(p.requires_grad for p in weights)
        return lambda: inputs.from_specs(specs, device=device, grad=grad)
    function = value.forward if is_module(value) else value
    parameters = _find_parameters(function)
    if has_examples(module) and parameters != []:
        return lambda: inputs.from_examples(module, file_or_module)
    if parameters is not None and all(p.default is not p.empty for p in parameters):
        alone: Calls = [inputs.Call()]
        return lambda: alone
    raise inputs.missing(
        function, place, file_or_module if file_or_module.endswith(".py") else "the module"
    )


def _find_parameters(function: Callable[..., object]) -> list[inspect.Parameter] | None:
    """Return the parameters of a function; None for a builtin that has no signature."""
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
