"""The figures and tables of the papers, one `Figure` each: measured in pieces, judged by the papers' claims, drawn.

- `figure`: what a figure is.
- `record`: what was measured, kept piece by piece with a stamp of its own, and whether it is older than the code.
- `catalogue`: all figures.
- `run`: measures pieces that have no record yet, with a progress bar (`python -m benchmarks.papers`).
- `draw` and `pages`: pictures, and the pages of docs/results (`python -m benchmarks.papers --draw`).
- `jisc`, `zhu`, `hybmig`, `jit`, `thesis`: the figures of each paper.
"""
