"""`tclab.catalog.functions.kernels` by its former name, which recorded snippets import."""

from tclab.catalog.functions import kernels

__all__ = ["kernels"]
