"""Beliefs about the call: what `torch.compile` does at once, where it puts what it made."""

import logging

import torch
from _beliefs import DOES_NOT, Beliefs, count
from torch._dynamo.eval_frame import _debug_get_cache_entry_list
from torch._dynamo.testing import CompileCounter

beliefs = Beliefs("The call")


def f(x):
    return x.sin() + 1


def unfinished(graph, example_inputs):
    raise NotImplementedError("no rule")


x, code = torch.ones(4), f.__code__
compiled = torch.compile(f, backend=(counter := CompileCounter()))
early = counter.frame_count, f.__code__ is code
compiled(x)
late = counter.frame_count, f.__code__ is code
entries = _debug_get_cache_entry_list(code)


def rewritten(graphs, same):
    """Whether something was compiled or replaced, and what is seen of it."""
    return graphs > 0 or not same, f"{count(graphs, 'graph')}, __code__ {'kept' if same else 'new'}"


at_decoration = beliefs.judge(
    "`torch.compile` compiles the function when it is applied",
    {"it is applied": rewritten(*early)},
)
# claim: nothing-before-the-first-call
assert at_decoration == DOES_NOT and early == (0, True)
# claim: code-is-kept
assert late == (1, True)

attribute = hasattr(code, "_torchdynamo_cache")
in_the_code = beliefs.judge(
    "Compiled code is an attribute of the function's code",
    {"_torchdynamo_cache": (attribute, f"{attribute}; {count(len(entries), 'entry')} in the list")},
)
# claim: no-attribute-of-the-code
assert in_the_code == DOES_NOT and entries[0].code is not code and entries[0].guard_manager


def outcome(**config):
    """The backend fails: does the call return what eager does?"""
    torch._dynamo.reset()
    logging.disable()  # the whole error would be logged
    with torch._dynamo.config.patch(config):
        try:
            return torch.equal(torch.compile(f, backend=unfinished)(x), f(x)), "eager's result"
        except Exception as error:
            return False, type(error).__name__
        finally:
            logging.disable(logging.NOTSET)


errors = beliefs.judge(
    "An error in a backend falls back to eager",
    {"no option is set": outcome(), "suppress_errors is set": outcome(suppress_errors=True)},
)
# claim: a-backends-error-is-raised
assert errors == "holds only if suppress_errors is set"


def accepted(**arguments):
    try:
        return torch.equal(torch.compile(f, backend="eager", **arguments)(x), f(x)), "accepted"
    except TypeError as error:
        return False, type(error).__name__


dynamic = beliefs.judge(
    "The argument for sizes that vary is `dynamic_shapes=True`",
    {"dynamic_shapes=True": accepted(dynamic_shapes=True)},
)
# claim: the-argument-is-dynamic
assert dynamic == DOES_NOT and accepted(dynamic=True)[0]
beliefs.show()
