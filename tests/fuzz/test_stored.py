"""Any artifact in its stored form comes back as it was."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from tclab.model import Chart, Kernel, KernelFacts, Table, Text, decode, encode

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
