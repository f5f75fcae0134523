"""Suggest fixes. For a graph break these are PyTorch's usable hints; for a recompile it is the fix
for the failed guard. tests/compare/test_fixes.py tries each fix.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from tclab.model import Break

# This graph break is fundamental - it is unlikely that Dynamo will ever be able to trace …
# It may be possible to write Dynamo tracing rules for this code. Please report an issue …
# Your code may result in an error when running in eager. Please double check …
# If it is a Python builtin, please file an issue on GitHub so the PyTorch team can add …
_NOTHING_TO_DO = re.compile(
    r"This graph break is fundamental|[Rr]eport an issue|Your code may result in an error when"
    r"|.*please file an issue on GitHub"
    # or `export TORCHDYNAMO_CAPTURE_SCALAR_OUTPUTS=1`
    # to include these operations in the captured graph.
    r"|^(?:or|to) "
)
# Note: Python `or`/`and` between tensor expressions (e.g. `tensor.any() or other_tensor.any()`) …
_OR_AND = re.compile(r"^Note: Python `or`/`and`")
_JOINED, _NEGATED = re.compile(r" (?:or|and) "), re.compile(r"\bnot\b")
# Dynamo does not know how to trace the builtin `_pickle.dumps.` This function is either a Python …
_BUILTIN = re.compile(r"does not know how to trace the builtin `(\w+)\.")
# If it is a third-party C/C++ Python extension, please either wrap it into …
_OTHERS = re.compile(r"If it is a third-party")
_BRANCH = "Data-dependent branching"
_WHILE = (
    "A `while` on a tensor's value stays a break: run a fixed number of steps, or "
    "torch._higher_order_ops.while_loop, which asks on the device."
)
#: PyTorch's number for a break at Tensor.backward().
_BACKWARD = "GB0123"
_COMPILE_THE_LOSS = (
    "Compile what computes the loss, and call .backward() and the optimizer outside of it: the "
    "backward of compiled code is compiled code."
)


def usable_hints(item: Break) -> tuple[str, ...]:
    """Return the hints that a user can act on, in PyTorch's order: those that fit the line."""
    if item.tried:
        return item.hints
    code = item.location.code.strip() if item.location else ""
    if item.gb_type == _BRANCH and code.startswith("while "):
        return (_WHILE,)
    hints = (hint for hint in item.hints if not _NOTHING_TO_DO.search(hint))
    if item.gb_id == _BACKWARD:
        return (*hints, _COMPILE_THE_LOSS)
    # `not` asks for a number, whatever joins the results
    is_joined = not code or (_JOINED.search(code) and not _NEGATED.search(code))
    of_python = _BUILTIN.search(item.explanation)
    return tuple(
        hint
        for hint in hints
        if (is_joined or not _OR_AND.search(hint))
        and not (of_python and of_python[1] in sys.stdlib_module_names and _OTHERS.match(hint))
    )


#: The fix for a guard on a Python value that was computed before a break.
KEEP_A_TENSOR = (
    "Another value compiles again: keep it a tensor, without .item(), float() or int(), or end the "
    "break."
)

# ------------------------------------------------------------------------------ recompiles

#: Causes of recompiles: other sizes; something that each program does once, for which there is
#: nothing to do; or graph breaks, through which functions of libraries are compiled alone.
SIZES, UNAVOIDABLE, BREAKS = "sizes", "unavoidable", "breaks"
#: The fix for recompiles for other sizes, without its full stop.
ANY_SIZE = "Compile with dynamic=True, so that sizes are symbols"


@dataclass(frozen=True)
class Fix:
    """What to do about recompiles, and their `cause`: SIZES, UNAVOIDABLE or ''. `helped` says that
    the fix was tried and that it helped.
    """

    text: str
    cause: str = ""
    helped: bool = False


END_THE_BREAKS = Fix(
    "Functions of libraries are compiled alone since graphs break in what this line calls: end the "
    "breaks first. (Not tried.)",
    BREAKS,
)
NO_KNOWN_FIX = Fix("No fix is known for this guard.")
NUMBER_FIX = Fix("Compile with dynamic=True, so that sizes and numbers are symbols.", SIZES)

#: Pattern of a failed guard → the fix, and its cause if it has one; the first match counts.
_FIX_TEXTS: tuple[tuple[str, ...], ...] = (
    #   a value from before the break == 2.5
    (r"a value from before the break(?:\[\d+\])* == ",
     KEEP_A_TENSOR),
    #   tensor '___stack0' size mismatch at index 0. expected 8, actual 9
    (r"tensor '___stack\d+.*?' size mismatch",
     f"{ANY_SIZE}.", SIZES),
    #   tensor 'x' size mismatch at index 0. expected 8, actual 12
    (r"tensor '(?P<what>.+?)' size mismatch at index (?P<at>\d+)",
     (f"{ANY_SIZE}; an argument can be marked instead, with "
     "torch._dynamo.mark_dynamic({what}, {at}) before the first call."), SIZES),
    #   tensor 'x' rank mismatch. expected 1, actual 2
    (r"tensor '(?P<what>.+?)' rank mismatch",
     "Each number of dimensions is compiled once: give {what} the same in every call, by reshape."),
    #   tensor 'x' dtype mismatch. expected Float, actual Double
    (r"tensor '(?P<what>.+?)' dtype mismatch",
     "Each dtype is compiled once: convert {what} to one before the call."),
    #   tensor 'x' requires_grad mismatch. expected requires_grad=0
    (r"tensor '(?P<what>.+?)' requires_grad mismatch",
     ("Nothing to do, if {what} has a gradient in some calls: with and without are compiled once "
     "each. Pass {what}.detach() where no gradient is wanted."), UNAVOIDABLE),
    #   tensor 'x' stride mismatch at index 0. expected 4, actual 1
    (r"tensor '(?P<what>.+?)' strides? mismatch",
     "Pass {what}.contiguous(), so that its strides are the same in every call."),
    #   GLOBAL_STATE changed: grad_mode
    (r"GLOBAL_STATE changed: (?P<what>\w+)",
     "Each {what} is compiled once: enter the same one around every call, if one is enough."),
    #   self._modules['drop'].training == True    not self.training
    (r"(?:not )?\S*\.training\b",
     "Nothing to do: train() and eval() are compiled once each.", UNAVOIDABLE),
    #   not bag.items
    (r"not (?P<what>[\w.]+)$",
     "{what} was empty when it was compiled: put there what belongs there before the first call."),
    #   y.size()[0] == x.size()[0]  # duck sizing added this equality
    (r"\S+\.size\(\)\[\d+\] == \S+\.size\(\)\[\d+\]",
     ("These sizes were equal when it was compiled and were taken for one: set "
     "torch.fx.experimental._config.use_duck_shape = False.")),
    #   2 <= x.size()[0] <= 10    Ne(x.size()[0], 4)
    (r".*\.size\(\)\[\d+\]",
     ("The code asks about this size, or is made for more than 1: sizes on the other side of a "
     "bound are compiled once more. Ask about sizes outside of the compiled function.")),
    #   len(xs) == 2    not xs
    (r"len\((?P<what>.+?)\) == \d+",
     ("Each length of {what} is compiled once: keep it the same; what the function itself puts "
     "there, put there after the call.")),
    #   os.environ._data[b'LOSS_SCALE'] == b'…'
    (r"os\.environ\._data\[b'(?P<what>\w+)'\] == ",
     ("Each value of the environment variable {what} is compiled once: read it outside of the "
     "compiled function and pass the value.")),
    #   KeyError on os.environ._data[b'LOSS_SCALE']
    (r"KeyError on os\.environ\._data\[b'(?P<what>\w+)'\]",
     ("The environment variable {what} was set when it was compiled, and is not now: read it "
     "outside of the compiled function and pass the value.")),
    #   Unexpected recompilation: runtime guards failed even though they passed during …
    (r"Unexpected recompilation: runtime guards failed",
     ("Another thread compiled the same code meanwhile, or changed what its guards read: make the "
     "first calls before the threads start.")),
    #   not ___dict_contains('bias', G['options'])    ___dict_contains('bias', G['options'])
    (r"(?:not )?___dict_contains",
     "Give the dictionary all its keys before the first call."),
    #   self.step == 2    scale == 1.5
    (r"(?P<what>\S+) == (?P<value>-?\d\S*|…)",
     ("{what} is a Python number: where it is only calculated with, pass or hold it as a tensor, "
     "torch.tensor({value}), and the code serves every value.")),
    #   mode == 'cos'    flag == True    flag is None
    (r"(?P<what>\S+) (?:==|is) (?:'|True|False|None)",
     ("Each value of {what} is compiled once: nothing to do for a switch; keep what differs in "
     "every call out of the compiled function.")),
    #   ___check_type_id(x, …), type=<class '__main__.Doubled'>
    (r"___check_type_id\((?P<what>[^,]+),",
     "Each type of {what} is compiled once: pass one type."),
    #   expected type of 'args[0]' to be a tensor type, ' but found <class 'm.Lazy'>
    (r"expected type of '(?P<what>.+?)' to be a tensor type",
     "Each type of {what} is compiled once: pass one type."),
    #   ___check_obj_id(act.__code__, …), type=<class 'code'>
    #   CodeGuardAccessor: Not a function on act.__code__
    ((r"(?:___check_obj_id\(|CodeGuardAccessor: Not a function on )(?P<what>[\w.\[\]']+?)"
     r"(?:\.__code__)?(?:,|$)"),
     "{what} is another object than before: pass the same one in every call, made once."),
)  # fmt: skip
_FIX_PATTERNS = tuple(
    (re.compile(pattern), text, "".join(cause)) for pattern, text, *cause in _FIX_TEXTS
)


#   n == 3
_NUMBER = re.compile(r"(?P<what>\S+) == -?\d")


def fix_guard(guard: str, symbols: Collection[str] = ()) -> Fix:
    """Return the fix for a failed guard, in the form in which a user would write the guard. A
    number in `symbols` is a size: Dynamo made it a symbol when it compiled again.
    """
    number = _NUMBER.match(guard)
    if number and number["what"] in symbols:
        return NUMBER_FIX
    for pattern, text, cause in _FIX_PATTERNS:
        if match := pattern.match(guard):
            return Fix(text.format(**match.groupdict()), cause)
    return NO_KNOWN_FIX


def fix_guards(guards: Iterable[str], symbols: Collection[str] = ()) -> tuple[Fix, ...]:
    """Return the fixes for these failed guards, each once. NO_KNOWN_FIX is returned only if no
    guard has a known fix.
    """
    fixes = dict.fromkeys(fix_guard(guard, symbols) for guard in guards)
    return tuple(fix for fix in fixes if fix != NO_KNOWN_FIX) or tuple(fixes)


def fix_together(guards: Iterable[str], symbols: Collection[str] = ()) -> Fix:
    """Return one fix for all of these failed guards. What is unavoidable is left out if there is
    something to do about another guard.
    """
    fixes = fix_guards(guards, symbols)
    useful = tuple(fix for fix in fixes if fix.cause != UNAVOIDABLE) or fixes
    causes = {fix.cause for fix in useful}
    return Fix(" ".join(fix.text for fix in useful), causes.pop() if len(causes) == 1 else "")
