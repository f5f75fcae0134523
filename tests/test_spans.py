"""The outermost function around a line of a file."""

from __future__ import annotations

import pytest

from tclab.text.spans import Span, enclosing_functions

SOURCE = '''"""A module."""
import functools

@functools.cache
def outer(x):
    def inner(y):
        return y
    return inner(x)

class Model:
    width = (
        3
    )

    @property
    def size(self):
        return self.width
'''


@pytest.mark.parametrize(
    ("line", "span"),
    [
        (2, Span(2, 2)),
        (4, Span(4, 8, "outer")),  # its decorator
        (7, Span(4, 8, "outer")),  # the function in it is not the outermost
        (9, Span(9, 9)),  # between two statements
        (12, Span(11, 13, "Model")),
        (17, Span(15, 17, "Model.size")),
        (99, Span(99, 99)),
    ],
)
def test_the_span_around_a_line(line, span):
    assert enclosing_functions(SOURCE, [line]) == [span]


def test_each_function_once_in_the_order_of_the_file():
    assert [span.name for span in enclosing_functions(SOURCE, [17, 7, 5, 16])] == [
        "outer",
        "Model.size",
    ]


def test_what_is_no_python_stands_for_itself():
    assert enclosing_functions("<% no python %>", [1, 3]) == [Span(1, 1), Span(3, 3)]
