"""Measure the figures that tclab must reach: the time of a build, the size of a report, and others.

``python -m benchmarks`` measures them; nothing asserts them. How fast what PyTorch compiles is,
`tclab.workshop.bench` times.

A figure is made of parts; each measured part is kept in benchmarks/work/ and not measured
again unless asked, so that a long run can be stopped and go on. The table is RESULTS.md, the
numbers behind it results.json; both are committed.
"""
