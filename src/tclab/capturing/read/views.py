"""Name the operators of ATen that move no data: their result shows the memory of their input."""

from __future__ import annotations

_VIEWS = (
    "view reshape _unsafe_view permute t transpose expand slice select unsqueeze squeeze alias "
    "as_strided split split_with_sizes detach diagonal unfold view_as_real view_as_complex"
)
VIEWS = frozenset(f"aten.{name}" for name in _VIEWS.split())
