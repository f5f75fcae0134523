"""Read snippets, which are files that show one thing each, and their claims, which are named
asserts.
"""

from __future__ import annotations

from tclab.site.snippets.files import find, get, header, read, read_all

__all__ = ["find", "get", "header", "read", "read_all"]
