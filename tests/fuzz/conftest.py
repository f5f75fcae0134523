"""Properties, tried on texts that Hypothesis makes up: each time the same ones.

`pytest tests/fuzz --hypothesis-profile=long` tries many more, others each time.
"""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("tclab", derandomize=True, database=None, deadline=None, max_examples=200)
settings.register_profile("long", database=None, deadline=None, max_examples=20_000)
settings.load_profile("tclab")
