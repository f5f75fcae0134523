"""Which trees a worker keeps: the few that were used last, and those in which something runs."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tclab.site.remote import worker_host
from tclab.site.remote.tree import Tree

TREES = [Tree({"mkdocs.yml": b"", "number": str(number).encode()}, {}) for number in range(5)]


class Agent:
    """Ends each job at once, or never."""

    is_alive = True

    def __init__(self, command, variables, folder, tree) -> None:
        self.tree, self.pending = tree, {}

    def submit(self, job):
        if job["warm"]:
            self.pending[1] = job
        return SimpleNamespace(
            done=SimpleNamespace(wait=lambda _: True), read_answer=lambda: "done"
        )

    def stop(self) -> None:
        pass

    close = stop


@pytest.fixture
def kept(monkeypatch):
    monkeypatch.setattr(worker_host, "_Agent", Agent)
    with worker_host.WorkerHost(["python"], 1) as made:
        yield made


def put(made, *numbers: int) -> None:
    for tree in (TREES[number] for number in numbers):
        made.add_tree(tree.digest, tree.packed)


def use(made, number: int, *, ends: bool = True) -> None:
    job = {"tree": TREES[number].digest, "on": 0, "cache": "", "variables": {}, "warm": not ends}
    assert made.run(job) == "done"


def there(made) -> list[int]:
    """Return the trees that it has, each with its folder and no folder besides."""
    has = [number for number, tree in enumerate(TREES) if made.has_tree(tree.digest)]
    assert len(list(made.folder.glob("tree-*"))) == len(has)
    return has


def test_the_trees_that_were_used_last_are_kept(kept) -> None:
    put(kept, 0, 1, 2, 3)
    assert there(kept) == [1, 2, 3]


def test_a_tree_is_used_by_each_of_its_jobs_and_not_by_the_first_alone(kept) -> None:
    put(kept, 0, 1, 2)
    for number in (0, 1, 0):
        use(kept, number)
    put(kept, 3, 4)
    assert there(kept) == [0, 3, 4]


def test_a_tree_in_which_something_runs_is_kept(kept) -> None:
    put(kept, 0)
    use(kept, 0, ends=False)
    put(kept, 1, 2, 3)
    assert there(kept) == [0, 1, 2, 3]
