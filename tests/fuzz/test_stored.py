"""Any data in the stored form: it comes back as it was, or is refused with a declared error."""

from __future__ import annotations

import contextlib
import json
from dataclasses import fields

from hypothesis import given, settings
from hypothesis import strategies as st

from tclab.errors import StoreError
from tclab.model import KINDS, Chart, Kernel, KernelFacts, Table, Text, decode, encode
from tclab.workshop.bench.rows import Book, Row, read

NAMES = sorted({field.name for cls in KINDS.values() for field in fields(cls)})
FLOATS = st.floats(allow_nan=False)
SCALARS = st.none() | st.booleans() | st.integers() | FLOATS | st.text()
KEYS = st.sampled_from(["$kind", "$", "$$kind", "$file", "kind", ""]) | st.text(max_size=3)
TEXTS = st.dictionaries(KEYS, st.text(), max_size=4)
ARTIFACTS = st.one_of(
    st.builds(Text, text=st.text(), title=st.text()),
    st.builds(Kernel, facts=st.builds(KernelFacts, written=TEXTS)),
    st.builds(
        Table, columns=st.just(("a", "b")), rows=st.lists(st.tuples(SCALARS, SCALARS)).map(tuple)
    ),
    st.builds(Chart, x=st.just((1, 2)), series=st.dictionaries(KEYS, st.tuples(FLOATS, FLOATS))),
)


@given(ARTIFACTS)
def test_an_artifact_comes_back(artifact):
    assert decode(json.loads(json.dumps(encode(artifact)))) == artifact


DATA = st.recursive(
    SCALARS | st.sampled_from(sorted(KINDS)),
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(KEYS | st.sampled_from(NAMES), below, max_size=4)
        | st.builds(
            lambda kind, values: {"$kind": kind} | dict(zip(_fields(kind), values)),
            st.sampled_from(sorted(KINDS)),
            st.lists(below, max_size=12),
        )
    ),
    max_leaves=12,
)


def _fields(kind: str) -> list[str]:
    return [field.name for field in fields(KINDS[kind])]


@settings(max_examples=500)
@given(DATA)
def test_any_data_is_an_object_or_a_declared_error(data):
    with contextlib.suppress(ValueError, TypeError):
        decode(data)


ENVIRONMENT = {"torch": "2.13.0", "gpu": "", "cpu": "x"}
ROWS = st.lists(
    st.builds(Row, case=st.text(), mode=st.text(), phase=st.text(), reason=st.text()),
    max_size=4, unique_by=lambda row: row.key,
)  # fmt: skip


@settings(max_examples=100)
@given(ROWS, st.integers(0, 60))
def test_rows_of_any_text_come_back_and_a_cut_loses_one_at_most(tmp_path_factory, rows, cut):
    book = Book.open(tmp_path_factory.mktemp("rows"), ENVIRONMENT)
    for row in rows:
        book.add(row)
    assert list(read(book.path)) == rows
    content = book.path.read_bytes()
    last = content.rstrip(b"\n").rpartition(b"\n")[2]
    if rows:
        book.path.write_bytes(content[: len(content) - 1 - min(cut, len(last))])
        with contextlib.suppress(StoreError):
            kept = list(read(book.path))
            assert kept in (rows, rows[:-1])


@settings(max_examples=100)
@given(st.lists(DATA.map(json.dumps) | st.text(max_size=10), max_size=4).map("\n".join))
def test_a_file_that_has_no_rows_is_refused(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    path.write_text(text, encoding="utf-8", errors="replace")
    with contextlib.suppress(StoreError):
        read(path)
