"""Beliefs about the call: what `torch.compile` does at once, where it puts what it made."""

import logging

import torch
from _beliefs import DOES_NOT, Beliefs, count, transformer_layer
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


def applied(to, how=torch.compile):
    """As `rewritten`, right after `torch.compile` of a module, and before a call."""
    counter, code = CompileCounter(), type(to).forward.__code__
    how(to, backend=counter)
    return rewritten(counter.frame_count, type(to).forward.__code__ is code)


at_decoration = beliefs.judge(
    "`torch.compile` compiles the function when it is applied",
    {
        "it is applied to a function": rewritten(*early),
        "it is applied to a transformer layer": applied(transformer_layer()),
        "it is m.compile()": applied(transformer_layer(), torch.nn.Module.compile),
    },
)
# claim: nothing-before-the-first-call
assert at_decoration == DOES_NOT and early == (0, True)
# claim: code-is-kept
assert late == (1, True)

plain = set(dir((lambda: None).__code__))


def noted_on(code):
    """Whether a code object has an attribute that plain ones have not."""
    entries = _debug_get_cache_entry_list(code)
    added = set(dir(code)) - plain
    return bool(added), f"{count(len(added), 'attribute')}; {len(entries)} in the list"


layer = transformer_layer()
torch.compile(layer, backend="eager")(torch.ones(1, 2, 16))
in_the_code = beliefs.judge(
    "Compiled code is an attribute of the function's code",
    {
        "it is a function": noted_on(code),
        "it is a transformer layer's forward": noted_on(type(layer).forward.__code__),
    },
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


def refused(call):
    try:
        call()
    except (TypeError, torch._dynamo.exc.UserError) as error:
        return False, type(error).__name__
    return True, "accepted"


x2d, several = torch.ones(1, 2, 16), {"dynamic_shapes": True}
dynamic = beliefs.judge(
    "The argument for sizes that vary is `dynamic_shapes=True`",
    {
        "of torch.compile": accepted(**several),
        "of m.compile()": refused(lambda: layer.compile(**several)(x2d)),
        "of torch.export, which has such an argument": refused(
            lambda: torch.export.export(layer, (x2d,), **several)
        ),
    },
)
# claim: the-argument-is-dynamic
assert dynamic == DOES_NOT and accepted(dynamic=True)[0]
beliefs.show()
