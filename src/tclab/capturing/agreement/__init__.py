"""Hold compiled results against eager's: results, arguments, state and gradients.

`Comparison` is begun before a capture, told each result, and asked for its `Agreement` at the end.
Importing this package imports torch.
"""

from __future__ import annotations

from tclab.capturing.agreement.comparison import Comparison

__all__ = ["Comparison"]
