"""Compare compiled results with eager's: results, arguments, state and gradients.

Begin a `Comparison` before a capture, add each result to it, and ask for its `agreement` at the
end. Importing this package imports torch.
"""

from __future__ import annotations

from tclab.capturing.agreement.comparison import Comparison

__all__ = ["Comparison"]
