"""A mode is a name for some of Inductor's options.

`list_mode_options` says which. To see that a mode is nothing else, a pass of our own looks at
Inductor's configuration while a function is compiled, once for each mode and once for its options
written out: the settings are the same.
"""
# tclab: timeout=180

import contextlib

import torch
from torch._inductor import config, list_mode_options

import tclab

SETTINGS = {name for options in list_mode_options().values() for name in options}


def f(x):
    return torch.relu(x) + 1


class Enough(Exception):
    """Ends the compile once the settings were seen: no code is needed."""


def settings(**arguments):
    """What Inductor's configuration held while `f` was compiled."""
    seen = {}

    def look(graph):
        seen.update({name: getattr(config, name) for name in sorted(SETTINGS)})
        raise Enough

    torch._dynamo.reset()
    with config.patch(post_grad_custom_post_pass=look, force_disable_caches=True):
        with contextlib.suppress(torch._dynamo.exc.BackendCompilerFailed):
            torch.compile(f, backend="inductor", **arguments)(torch.ones(8))
    return seen


MODES = ("default", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
options = {mode: list_mode_options()[mode] for mode in MODES}
by_mode = {mode: settings(mode=mode) for mode in MODES}
by_options = {mode: settings(options=options[mode]) for mode in MODES}

# claim: a-mode-is-its-options
assert all(by_mode[mode] and by_mode[mode] == by_options[mode] for mode in MODES)
changed = {m: {k: v for k, v in by_mode[m].items() if v != by_mode["default"][k]} for m in MODES}
# claim: and-nothing-else
assert changed == options
# claim: default-is-none
assert options["default"] == {}
# claim: reduce-overhead-is-cuda-graphs
assert options["reduce-overhead"] == {"triton.cudagraphs": True}
# claim: a-fifth-mode
assert list_mode_options().keys() - options == {"lite"} and '"lite"' not in torch.compile.__doc__
without = {"max_autotune": True, "coordinate_descent_tuning": True}
# claim: max-autotune-is-tuning-and-cuda-graphs
assert options["max-autotune"] == {**without, "triton.cudagraphs": True}
# claim: one-mode-leaves-cuda-graphs-out
assert options["max-autotune-no-cudagraphs"] == without

every = list(dict.fromkeys(name for chosen in options.values() for name in chosen))
tclab.show(tclab.Table(
    title="Options of each mode", name="modes", columns=("mode", *every),
    rows=[(mode, *(options[mode].get(name) for name in every)) for mode in MODES],
))  # fmt: skip
