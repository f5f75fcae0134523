"""Ways to a compiled function, each tried in this process: prints a JSON object, way → outcome.

With the argument `make` it makes instead what the ways read, for which it needs a compiler.
"""

import json
import sys

import torch


def f(x):
    return torch.relu(x) + 1.0


class Module(torch.nn.Module):
    def forward(self, x):
        return f(x)


def make(x):
    """A package of AOTInductor, and a function compiled ahead, in the working folder."""
    program = torch.export.export(Module(), (x,))
    options = {"aot_inductor.compile_wrapper_opt_level": "O0"}  # compiles faster
    torch._inductor.aoti_compile_and_package(
        program, package_path="f.pt2", inductor_configs=options
    )
    torch._dynamo.config.enable_aot_compile = True  # of itself from 2.12 on
    ahead = torch.compile(f, fullgraph=True).aot_compile(((x,), {}))
    ahead.save_compiled_function("f.bin")
    compiled(x)  # fills the cache folder


def compiled(x, **how):
    torch._dynamo.reset()
    return torch.compile(f, **how)(x)


def suppressed(x):
    with torch._dynamo.config.patch(suppress_errors=True):
        return compiled(x)


def from_a_file(x):
    with open("f.bin", "rb") as file:
        return torch.compiler.load_compiled_function(file)(x)


def from_a_package(x):
    return torch._inductor.aoti_load_package("f.pt2")(x)


def product(x):
    layer = torch.nn.Linear(8, 8)
    return torch.compile(lambda x: layer(x))(x) - layer(x) + f(x)


def outcome(way, x):
    try:
        return "right" if torch.allclose(way(x), f(x), atol=1e-5) else "wrong"
    except Exception as error:
        return "InvalidCxxCompiler" if "InvalidCxxCompiler" in repr(error) else repr(error)


WAYS = {
    "a cache folder that was filled": compiled,
    "a function compiled ahead, as a file": from_a_file,
    "a package of AOTInductor": from_a_package,
    "a layer that is a library's call": product,
    'backend="aot_eager"': lambda x: compiled(x, backend="aot_eager"),
    "suppress_errors": suppressed,
}
if __name__ == "__main__":
    x = torch.ones(8, 8)
    if "make" in sys.argv:
        make(x)
    else:
        json.dump({name: outcome(way, x) for name, way in WAYS.items()}, sys.stdout)
