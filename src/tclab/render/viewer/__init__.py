"""The viewer of a chain: linked panes side by side, which one may read without its script.

`panes` says how lines are named and where they came from; `lines` makes HTML of them; `frame`
puts them into columns with their controls; `noise` says which lines a reader can do without;
`instructions` what opcodes do; `facts` what stands above a kernel.
"""
