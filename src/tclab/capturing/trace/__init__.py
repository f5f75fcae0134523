"""Define the trace of a compile as plain data: events, their names, and notes. This package never
imports torch.
"""
