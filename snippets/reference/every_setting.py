"""Every setting of the compiler: default, environment variable, and PyTorch's own comment.

The names, types and defaults are those of the installed modules; comments and variables are read
from their source. A default that is computed from the machine stands as it is written there. The
type stands behind a default that does not tell it, such as `None`.
"""
# tclab: needs=cxx

import torch
import torch._dynamo.config
import torch._functorch.config
import torch._inductor.config
import torch.compiler.config
import torch.fx.experimental._config
from _source import first_sentence, settings
from torch._dynamo.testing import CompileCounterWithBackend

import tclab

MODULES = {
    "dynamo": torch._dynamo.config,
    "functorch": torch._functorch.config,
    "inductor": torch._inductor.config,
    "compiler": torch.compiler.config,
    "symbolic": torch.fx.experimental._config,
}
LITERAL = (bool, int, float, str, type(None))
LONGEST = 80


def default(entry, written):
    """The default as code: the value if the source writes one, else what it writes."""
    computed = "(" in written or " if " in written or " or " in written
    if isinstance(entry.default, LITERAL) and not computed:
        return repr(entry.default)
    return written if len(written) <= LONGEST else f"{written[: LONGEST - 1]}…"


def kind(entry):
    return getattr(entry.value_type, "__name__", str(entry.value_type)).removeprefix("typing.")


def typed(entry, written):
    """The default, and the type where the default does not tell it."""
    shown, of = default(entry, written), kind(entry)
    return shown if type(entry.default).__name__ == of else f"{shown} ({of})".lstrip()


def effective(name, entry, written):
    """``dynamo.a = 8``: the default at the start; None if the machine decides it, or for a path."""
    value = entry.default
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if (is_number and "(" in written) or not isinstance(value, LITERAL) or "/" in str(value):
        return None
    return f"{name} = {value!r}"


variables, total, defaults, comments = {}, 0, [], []
columns = ("name", "default", "environment", "PyTorch's comment", "at")
for module_name, module in MODULES.items():
    source = settings(module)
    rows = []
    for name, entry in sorted(module._config.items()):
        if name == "TYPE_CHECKING" or name.startswith("_save_config_ignore"):
            continue  # no setting: for type checkers, and which settings are not saved
        written, read, comment, place = source.get(name, ("", (), "", None))
        words = ", ".join(read) or None, comment or None
        if found := effective(f"{module_name}.{name}", entry, written):
            defaults.append((found,))
        if comment:
            comments.append((f"{module_name}.{name} = {first_sentence(comment)}",))
        rows.append((name, typed(entry, written), *words, place))
        for variable in read:
            variables.setdefault(variable, (f"{module.__name__}.{name}", comment or None, place))
    total += len(rows)
    tclab.show(tclab.Table(module.__name__, module_name, columns, rows))

rows = [(variable, *rest) for variable, rest in sorted(variables.items())]
columns = ("variable", "sets", "PyTorch's comment", "at")
tclab.show(tclab.Table("Environment variables", "environment", columns, rows))
tclab.show(tclab.Table("Defaults that this PyTorch starts with", "defaults", ("is",), defaults))
tclab.show(tclab.Table("What PyTorch's comments say first", "comments", ("is",), comments))
counts = [("settings", total), ("environment variables", len(rows))]
tclab.show(tclab.Table("Counted", "counts", ("what", "number"), counts))

dynamo, inductor = (MODULES[name]._config for name in ("dynamo", "inductor"))
# claim: settings-in-classes-are-there
assert {"triton.cudagraphs", "cpp.threads", "max_autotune"} <= set(inductor)
# claim: a-default-is-the-installed-one
assert torch._dynamo.config.recompile_limit == dynamo["recompile_limit"].default == 8
# claim: a-variable-belongs-to-its-setting
assert variables["TORCHINDUCTOR_MAX_AUTOTUNE"][0] == "torch._inductor.config.max_autotune"


def compiles_by_threads(*numbers, **config):
    """Compiles of one function that is called with each number of threads in turn."""
    torch._dynamo.reset()
    counter, before = CompileCounterWithBackend("inductor"), torch.get_num_threads()
    with torch._inductor.config.patch(config):
        compiled = torch.compile(torch.sin, backend=counter)
        for number in numbers:
            torch.set_num_threads(number)
            compiled(torch.ones(4))
    torch.set_num_threads(before)
    return counter.frame_count


# claim: dynamic-threads-compile-again
assert compiles_by_threads(1, 2, 1, **{"cpp.dynamic_threads": True}) == 2
# claim: other-threads-compile-again
assert compiles_by_threads(1, 2, 1) == 2 and compiles_by_threads(1, 1) == 1
