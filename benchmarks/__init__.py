"""How fast, how small, how steady: every figure beside a hand-written join, in the same run."""
