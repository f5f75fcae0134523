"""Render the reference pages: names of the installed PyTorch, and the chapters that show them."""
