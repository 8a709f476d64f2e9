"""Speed beside other projects: one module a row, each with a pure function that measures it.

Peers run in the same process, in rounds that alternate with ours, so that other work on the
machine hits both alike. ``python -m benchmarks`` prints the table; nothing in the tests depends
on a figure from here.
"""
