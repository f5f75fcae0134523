"""What a reader calls a kernel."""

from __future__ import annotations

import pytest

from tclab.model import KernelIdentity


@pytest.mark.parametrize(
    ("named", "title"),
    [
        ({"category": "reduction", "language": "python", "operators": ("aten.sum",)},
         "reduction aten.sum"),
        ({"category": "pointwise", "language": "python", "operators": ()}, "pointwise kernel"),
        ({"category": "", "language": "cpp", "operators": ()}, "C++ kernel"),
        ({"category": "", "language": "cpp", "operators": ("aten.sum",)}, "C++ aten.sum"),
    ],
)  # fmt: skip
def test_a_kernel_without_category_or_operators_has_a_title(named, title):
    assert KernelIdentity(direction="forward", text="", body="", **named).title == title
