"""What to do about a graph break: PyTorch's hints, without those that say nothing to do."""

from __future__ import annotations

import re

from tclab.model import Break

# This graph break is fundamental - it is unlikely that Dynamo will ever be able to trace …
# It may be possible to write Dynamo tracing rules for this code. Please report an issue …
# Your code may result in an error when running in eager. Please double check …
_NOTHING_TO_DO = re.compile(
    r"This graph break is fundamental|[Rr]eport an issue|Your code may result in an error when"
)


def of(item: Break) -> tuple[str, ...]:
    """The hints a user can act on, in PyTorch's order."""
    return tuple(hint for hint in item.hints if not _NOTHING_TO_DO.search(hint))
