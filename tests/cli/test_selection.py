from __future__ import annotations

from pathlib import Path

import pytest

from tclab.errors import SnippetError
from tclab.model import Snippet
from tclab.site.cli.selection import select, select_one

NAMES = (
    "dynamo/first_call",
    "graph_breaks/print_breaks_the_graph",
    "graph_breaks/print_is_dropped",
    "triton/softmax",
    "triton/softmax_backward",
)
KNOWN = [Snippet(n, Path("snippets", f"{n}.py"), n, "", "") for n in NAMES]


def names(*words: str) -> list[str]:
    return [s.name for s in select(words, KNOWN)]


def test_no_words_mean_all() -> None:
    assert names() == list(NAMES)


@pytest.mark.parametrize(
    "word",
    [
        "graph_breaks/print_breaks_the_graph",
        "snippets/graph_breaks/print_breaks_the_graph.py",
        "./snippets/graph_breaks/print_breaks_the_graph.py",
        "/some/where/snippets/graph_breaks/print_breaks_the_graph.py",
        "graph_breaks/print_breaks_the_graph.py",
        "graph_breaks/print_b",
        "print_breaks",
    ],
)
def test_every_way_to_name_one(word: str) -> None:
    assert names(word) == ["graph_breaks/print_breaks_the_graph"]


def test_a_full_name_wins_over_longer_ones() -> None:
    assert names("triton/softmax") == ["triton/softmax"]


@pytest.mark.parametrize("word", ["triton", "triton/", "snippets/triton"])
def test_a_topic_means_all_of_it(word: str) -> None:
    assert names(word) == ["triton/softmax", "triton/softmax_backward"]


def test_each_snippet_comes_once_in_the_order_of_the_words() -> None:
    assert names("triton", "first", "triton/softmax") == [
        "triton/softmax",
        "triton/softmax_backward",
        "dynamo/first_call",
    ]


def test_a_beginning_of_several_names_lists_them() -> None:
    with pytest.raises(SnippetError, match=r"2 snippets begin so: .*print_breaks.*print_is") as e:
        select(["print"], KNOWN)
    assert e.value.next_step == "write more of the name"


def test_an_unknown_name_suggests_near_ones() -> None:
    with pytest.raises(SnippetError, match="no such snippet") as e:
        select(["triton/sofmax"], KNOWN)
    assert "did you mean triton/softmax" in e.value.next_step


def test_a_hopeless_name_says_where_to_look() -> None:
    with pytest.raises(SnippetError) as e:
        select(["zzzzzzzz"], KNOWN)
    assert e.value.next_step == "tclab list shows them all"


def test_one_refuses_a_topic() -> None:
    with pytest.raises(SnippetError, match="2 snippets begin so"):
        select_one("triton", KNOWN)
