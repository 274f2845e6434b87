"""The results of a push, by query."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import pyarrow as pa

from eddy.errors import EddyError
from eddy.query.query import Query
from eddy.results.result import Result
from eddy.several.bulk import table_of
from eddy.several.shares import Parts, nothing_of
from eddy.shown import html_table

QUERY = "query"
"""The column of names where the results of several queries are in one table."""


class Results(Mapping[str, Result]):
    """What a push has brought, by the names of the queries. A query's part is found when it is asked for."""

    def __init__(
        self,
        queries: Mapping[str, Query],
        sources: Sequence[Mapping[str, Callable[[], Result]]],
    ) -> None:
        """``sources`` find the parts of the queries that they name, one after the other."""
        self._queries, self._sources = queries, sources
        self._made: dict[str, Result] = {}

    def _makers(self, name: str) -> list[Callable[[], Result]]:
        return [source[name] for source in self._sources if name in source]

    def __getitem__(self, name: str) -> Result:
        if name not in self._made:
            if name not in self._queries:
                raise KeyError(name)
            parts = [maker() for maker in self._makers(name)]
            if not parts:
                parts = [nothing_of(self._queries[name])]
            self._made[name] = parts[0] if len(parts) == 1 else Result.concat(parts)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._queries)

    def __len__(self) -> int:
        return len(self._queries)

    def __contains__(self, name: object) -> bool:
        return name in self._queries

    def to_arrow(self, sign: bool = False) -> pa.Table:
        """All rows of all queries, which show the same columns, in one table; its first column names the query.

        Of one core all queries are read together: for a thousand alerts that is much quicker than one by one.
        """
        tables, done = list[pa.Table](), set[str]()
        for source in self._sources if self._are_apart() else ():
            if isinstance(source, Parts):
                tables += table_of(source, QUERY, sign)
                done |= source.read_together
        for name in self if len(done) < len(self) else ():
            if name not in done:
                table = self[name].to_arrow(sign)
                names = pa.DictionaryArray.from_arrays(pa.array([0] * table.num_rows, pa.int32()), [name])
                tables.append(table.add_column(0, QUERY, names))
        if not tables:
            raise EddyError("there is no query, and so no table")
        if len(tables) == 1:
            return tables[0]
        schema = tables[0].schema
        for table in tables[1:]:
            if table.schema != schema:
                raise EddyError(
                    f"the queries show different columns ({', '.join(schema.names[1:])}; "
                    f"{', '.join(table.schema.names[1:])}): read them by name, as results[name].to_arrow()"
                )
        return pa.concat_tables(tables).unify_dictionaries()

    def _are_apart(self) -> bool:
        """Whether no query has its results in two places."""
        if len(self._sources) < 2:
            return True
        return sum(map(len, self._sources)) == len(set[str]().union(*self._sources))

    @property
    def counts(self) -> dict[str, int]:
        """How many rows there are for each query."""
        return {name: len(result) for name, result in self.items()}

    def __repr__(self) -> str:
        counts = ", ".join(f"{name}: {count}" for name, count in self.counts.items())
        return f"<Results {counts}>"

    def _repr_html_(self) -> str:
        return html_table(("query", "rows"), [(name, f"{count:,}") for name, count in self.counts.items()])
