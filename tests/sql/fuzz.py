"""Random statements against DuckDB: ``python -m tests.sql.fuzz --statements 2000 [--seed 1]``."""

from __future__ import annotations

import argparse
import sys

from tests.sql.against_duckdb import compare, made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--statements", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    start = options.seed * 1_000_000
    for seed in range(start, start + options.statements):
        try:
            compare(seed)
        except Exception as error:  # any error is a finding
            print(f"statement {seed}: {type(error).__name__}: {error}")
            print({name: table.to_pylist() for name, table in made(seed)[1].items()})
            return 1
    print(f"{options.statements} statements give what DuckDB gives")
    return 0


if __name__ == "__main__":
    sys.exit(main())
