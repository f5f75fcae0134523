"""Lab 3, exercise 4: one compile for every batch size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tclab.labs.exercise import Draw, Exercise, all_of
from tclab.labs.exercises.compiled import same

if TYPE_CHECKING:
    from tclab import Capture

Answer = Callable[..., Any]

for_any_batch = Exercise("for_any_batch", "One compile for every batch size")


def _served(answer: Answer, sizes: Sequence[int], draw: Draw) -> tuple[Capture, list[str]]:
    """What was compiled while batches of these sizes were served, and what was wrong with them."""
    import torch

    import tclab

    def model(x: Any) -> Any:
        return torch.relu(x).sum(-1) / x.shape[0]

    torch.compiler.reset()
    texts = []
    with tclab.capture() as capture:
        serve = answer(model)
        for size in sizes:
            x = draw.tensor(size, 6)
            texts.append(same(serve(x), model(x), f"for {size} rows"))
    return capture, [text for text in texts if text]


@for_any_batch.step(
    "result",
    "gives the model's own results",
    "What does your function return, and what does that return when it is called?",
    "Return a callable that takes x and gives what model(x) gives.",
)
def _(answer: Answer, draw: Draw) -> str:
    return next(iter(_served(answer, [5, 9], draw)[1]), "")


@for_any_batch.step(
    "compiled",
    "compiles",
    "Is there a graph at all?",
    "Use torch.compile; backend='eager' is enough here.",
)
def _(answer: Answer, draw: Draw) -> str:
    return all_of((len(_served(answer, [5, 9], draw)[0].graphs) > 0, "nothing was compiled"))


@for_any_batch.step(
    "each-size",
    "does not compile for each size",
    "How many graphs do the sizes 5, 9, 12 and 30 make? And with dynamic=False?",
    "With dynamic=False every size is a constant, and each new one recompiles.",
)
def _(answer: Answer, draw: Draw) -> str:
    graphs = len(_served(answer, [5, 9, 12, 30], draw)[0].graphs)
    return all_of((graphs <= 2, f"four sizes made {graphs} graphs"))


@for_any_batch.step(
    "second-size",
    "does not compile again at the second size",
    "By default the first size is taken for a constant. How do you say beforehand that it varies?",
    "torch.compile(model, dynamic=True), or torch._dynamo.mark_dynamic(x, 0) before the first "
    "call.",
)
def _(answer: Answer, draw: Draw) -> str:
    sizes = draw.random.sample(range(3, 90), 4)
    graphs = len(_served(answer, sizes, draw)[0].graphs)
    return all_of((graphs == 1, f"the sizes {sizes} made {graphs} graphs"))
