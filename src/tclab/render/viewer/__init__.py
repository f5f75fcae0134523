"""Draw the viewer of a chain: linked panes side by side, which can be read without the viewer's
script.

`panes` has the ids and origins of lines; `lines` draws the lines; `frame` draws the columns and
their controls; `noise` finds lines that are hidden by default; `instructions` explains opcodes;
`facts` draws the facts above a kernel; `compared` compares two listings.
"""
