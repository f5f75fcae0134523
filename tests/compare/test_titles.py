"""What a reader calls a kernel."""

from __future__ import annotations

import pytest

from tclab.model import KernelIdentity

#: The C++ kernel that Inductor writes for a Python number, such as `self.scale += 0.1`, normalised.
OF_A_NUMBER = """\
extern "C" void kernel(const double* ptr_0,
float* ptr_1)
{
auto tmp_0 = ptr_0[static_cast<int64_t>(0L)];
auto tmp_1 = static_cast<double>(0.1);
auto tmp_2 = double(tmp_1 + tmp_0);
auto tmp_3 = c_0::convert<float>(tmp_2);
ptr_1[static_cast<int64_t>(0L)] = tmp_3;
}"""


@pytest.mark.parametrize(
    ("named", "title"),
    [
        ({"category": "reduction", "language": "python", "operators": ("aten.sum",)},
         "reduction aten.sum"),
        ({"category": "pointwise", "language": "python", "operators": ()}, "pointwise kernel"),
        ({"category": "", "language": "cpp", "operators": ()}, "C++ kernel"),
        ({"category": "", "language": "cpp", "operators": ("aten.sum",)}, "C++ aten.sum"),
        ({"category": "", "language": "cpp", "operators": (), "body": OF_A_NUMBER},
         "C++ kernel of double(tmp_1 + tmp_0)"),
    ],
)  # fmt: skip
def test_a_kernel_without_category_or_operators_has_a_title(named, title):
    named = {"body": ""} | named
    assert KernelIdentity(direction="forward", text="", **named).title == title
