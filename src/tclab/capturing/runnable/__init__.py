"""Compile a graph of a trace again: read ``fx_graph_runnable`` without executing it, rebuild the FX
graph, and compile it where Inductor begins.
"""
