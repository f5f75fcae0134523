"""List code forms that differ between versions of PyTorch, and how each can change results."""

from __future__ import annotations

from dataclasses import dataclass

from tclab.compare import rules
from tclab.compare.flow import Flow, Operation, Rule
from tclab.compare.rewritings import EXTREMA, OlderCall

#: The ways in which a cause can change results, from the least to the most harmful one.
NO, BY_TRITON, NAN = "no", "not by PyTorch's code", "inside of a row with NaN"
LAST_BITS, UNKNOWN, YES = "the last bits", "not known", "yes"
NUMERIC_EFFECTS = (NO, BY_TRITON, NAN, LAST_BITS, UNKNOWN, YES)


def _no_rule(flow: Flow, operation: Operation, operands: tuple[int, ...]) -> int | None:
    """Return None, as a rule that never applies. Forms outside of FORMS have this rule."""
    return None


@dataclass(frozen=True)
class Form:
    """One computation that is written in two ways; `rule` makes them equal. `numbers` is one of
    NUMERIC_EFFECTS. `memory` and `speed` describe other effects, and `note` explains the form.
    `issue_number` is the issue of PyTorch that reports the form.
    """

    name: str
    rule: Rule = _no_rule
    numbers: str = NO
    memory: str = ""
    speed: str = ""
    note: str = ""
    issue_number: int | None = None

    @property
    def title(self) -> str:
        """The name without backticks, for a terminal."""
        return self.name.replace("`", "")

    @property
    def issue(self) -> str:
        """The issue as GitHub abbreviates it, ``pytorch#1``; '' if there is none."""
        return f"pytorch#{self.issue_number}" if self.issue_number else ""

    @property
    def issue_suffix(self) -> str:
        """The issue in brackets, to append to the name; '' if there is none."""
        return f" ({self.issue})" if self.issue else ""

    @property
    def can_move_numbers(self) -> bool:
        """Whether results can differ, or whether it is unknown if they can."""
        return self.numbers not in (NO, BY_TRITON)


#: The known forms, in the order in which their rules are tried.
FORMS = (
    Form("`triton_helpers.rand4x` and `tl.rand`",
         rules.undo_newer_calls(
             OlderCall("rand4x", "tl.rand", 2), OlderCall("randn4x", "tl.randn", 2)
         ), YES, issue_number=198333,
         note="other random numbers from the same seed, so other dropout masks; rand4x repeats "
         "numbers where the offsets of a block do not follow each other"),
    Form("a reciprocal of a root and `libdevice.rsqrt`", rules.replace_reciprocal_root, LAST_BITS,
         speed="one operation for two"),
    Form("a numerator that is an integer, and one that is float32", rules.convert_numerator,
         note="Triton makes it float32 before it divides"),
    Form("a product and a sum, and `tl.fma`", rules.expand_fma, LAST_BITS,
         note="it is rounded once, not twice, where Triton has not joined the two already"),
    Form("a product that may be rounded to TF32, and one that may not", rules.drop_tf32, UNKNOWN,
         note="products of float32 are rounded, and no others"),
    Form("`max2` and `fmax2` in the online softmax",
         rules.undo_newer_calls(OlderCall("fmax2", "triton_helpers.max2", 2)), NAN,
         note="with fmax2 the maximum of a row does not become NaN where one element is NaN"),
    Form("a buffer written in place, and one of its own", rules.ignore_buffer_name,
         memory="a buffer more or less: see the bytes planned"),
    Form("an index, and the same index simplified", rules.evaluate_index,
         speed="fewer operations on indices"),
    Form("an index whose type is said, and one whose type is not", rules.drop_index_type),
    Form("an index that may count from the end, and one that may not", rules.drop_negative_index,
         speed="fewer operations on indices",
         note="a negative index is stopped by the assertion, where it was taken from the end"),
    Form("a mask where a block has the size of its row, and none", rules.drop_full_mask,
         speed="masked loads"),
    Form("a padding that is chosen, and one that the load fills in", rules.fill_by_load,
         speed="a choice more for each element"),
    Form("a barrier between loads and stores", rules.drop_barrier,
         speed="threads of a block wait there"),
    Form("a hint for the cache, what to drop", rules.drop_eviction_hint,
         speed="what stays in the cache"),
    Form("a product with 1.0, and none", rules.drop_factor_one),
    Form("the online softmax's switch for signed zeros, which is off",
         rules.drop_signed_zero_switch),
    Form("a test for a sign that float64 has now, too", rules.drop_float64_test,
         note="of float32 and integers the test is the same"),
    Form("maximum and minimum with a helper, and without", rules.undo_newer_calls(*EXTREMA)),
)  # fmt: skip
ORDER = Form("the same operations in another order")
COMPILED = Form("the same code, and another Triton's instructions", numbers=BY_TRITON,
                note="of what Triton makes of equal code, registers and spills are compared, no "
                "more")  # fmt: skip
UNNAMED = Form("not known", numbers=UNKNOWN)
FUSED = Form("another fusion or decomposition", numbers=UNKNOWN,
             note="other operators are in a kernel, or one side has a kernel more")  # fmt: skip
TILED = Form("blocks of one dimension, and of two", numbers=UNKNOWN,
             speed="which memory is read together",
             note="what one element is does not depend on it; atomic additions are made in another "
             "order")  # fmt: skip
LOOPED = Form("a row in one block, and in a loop", numbers=UNKNOWN,
              speed="what is read once, and what is read again",
              note="in a loop a row is added up in another order")  # fmt: skip
ONLINE = Form("a softmax in one pass over the row, and in two", numbers=UNKNOWN,
              speed="a row is read once less",
              note="the sum is added up in another order")  # fmt: skip
RESIZED = Form("the same operators over other sizes", numbers=UNKNOWN,
               note="the work was cut into kernels elsewhere")  # fmt: skip
LAUNCH = Form("metadata of the kernel, such as sizes", numbers=UNKNOWN,
              speed="other sizes or alignments can give another configuration")  # fmt: skip
CONFIGURED = Form("another configuration", numbers=UNKNOWN, speed="other blocks, warps or stages",
                  note="in other blocks a reduction adds in another order")  # fmt: skip
