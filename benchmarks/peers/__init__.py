"""Eddy beside what people use: the same data, the same results, each contender in a process of its own.

`workloads` and `contenders` are the two tables; `command` is what `make peers` runs. Every other module named after a
contender is its runner: it imports nothing of Eddy and runs in an environment that has the contender installed.
"""
