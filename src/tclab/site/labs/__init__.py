"""Make labs. A lab has one source, from which a page, an exercise and a checker are made. Imports
no torch.
"""
