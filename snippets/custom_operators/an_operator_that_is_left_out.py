"""An operator whose result nobody reads: AOTAutograd leaves the call out, and no error says so.

`mutates_args=()` declares that a call changes nothing. Each of the three writes its name into a
list, which no declaration covers. Only the one that declares a change of a tensor is kept.
"""
# tclab: needs=cxx

import torch
from torch.library import custom_op

import tclab

written = []


@custom_op("left_out::copied", mutates_args=())
def copied(x: torch.Tensor) -> torch.Tensor:
    written.append("copied")
    return x.clone()


@custom_op("left_out::printed", mutates_args=())
def printed(x: torch.Tensor) -> None:
    written.append("printed")


@custom_op("left_out::counted", mutates_args={"count"})
def counted(x: torch.Tensor, count: torch.Tensor) -> None:
    written.append("counted")
    count += 1


copied.register_fake(torch.empty_like)
printed.register_fake(lambda x: None)


def unread(x, count):
    copied(x)
    printed(x)
    counted(x, count)
    return x.sin()


def read(x, count):
    return copied(x).sin()


def calls(fn):
    """The operators that ran, in order, and whether the result is right."""
    x = torch.linspace(-1, 1, 8)
    written.clear()
    right = torch.allclose(fn(x, torch.zeros(())), x.sin())
    return ", ".join(written), right


def calls_of(fn, backend):
    torch._dynamo.reset()
    compiled = torch.compile(fn, backend=backend, fullgraph=True)
    compiled(torch.linspace(-1, 1, 8), torch.zeros(()))
    return calls(compiled)


ran = {"not compiled": calls(unread)}
ran |= {backend: calls_of(unread, backend) for backend in ("eager", "aot_eager", "inductor")}
when_read = calls_of(read, "inductor")

c = tclab.capture(unread, fullgraph=True)(torch.linspace(-1, 1, 8), torch.zeros(()))
tclab.show(c.graphs[0], name="graph")
tclab.show(c.forward[0], name="forward")
tclab.show(
    tclab.Table(
        title="Which operators ran at a call",
        name="ran",
        columns=("backend", "ran", "result is right"),
        rows=[(name, *row) for name, row in ran.items()],
    )
)

ALL = "copied, printed, counted"
# claim: eager-runs-all
assert ran["not compiled"] == (ALL, True)
# claim: dynamo-keeps-all
assert all(f"left_out.{name}" in c.graphs[0].code for name in ALL.split(", "))
assert ran["eager"] == (ALL, True)
# claim: a-compile-leaves-out-what-is-not-read
assert ran["aot_eager"] == ran["inductor"] == ("counted", True)
# claim: aotautograds-graph-lacks-it
assert "copied" not in c.forward[0].code and "printed" not in c.forward[0].code
assert "counted" in c.forward[0].code
# claim: a-result-that-is-read-is-kept
assert when_read == ("copied", True)
# claim: opcheck-says-nothing
assert {*torch.library.opcheck(printed, (torch.ones(4),)).values()} == {"SUCCESS"}
assert {*torch.library.opcheck(copied, (torch.ones(4),)).values()} == {"SUCCESS"}
