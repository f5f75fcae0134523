"""Explain again whenever a file is saved, and show the report in a browser. Imports no PyTorch."""
