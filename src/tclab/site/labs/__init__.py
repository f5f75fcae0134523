"""Make labs. A lab has one source, from which a page, an exercise and a checker are made. This
package imports no torch.
"""
