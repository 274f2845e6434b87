"""What the page shows of an engine of several queries: one core at a time, and which others there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from attrs import define, field, frozen

from eddy.inspect.described import described
from eddy.page.plain import as_json
from eddy.page.recorder import Recorder
from eddy.query.query import Query
from eddy.several.query_doors import few
from eddy.several.shared_eddy import SharedEddy


@define(eq=False)
class CoreRecorder(Recorder):
    """Reads the engine of a core, and tells of its queries."""

    queries: Mapping[str, Query] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self.retell(self.queries, "")

    def retell(self, queries: Mapping[str, Query], others: str) -> None:
        """These are its queries from now on; ``others`` says which other cores there are."""
        self.queries = queries
        first = next(iter(queries.values()))
        for told in self._streams:
            name = told["name"]
            declared = first.streams[name]
            filters = {str(query.filters.get(name)) for query in queries.values()}
            told["columns"] = {column: str(kind) for column, kind in declared.columns.items()}
            told["filter"] = next(iter(filters)) if name in first.filters and len(filters) == 1 else None
        shown = list(queries)[:10]
        texts = [f"{name}\n" + "\n".join(described(queries[name], self.sources)) for name in shown]
        more = len(queries) - len(shown)
        self._query = "\n\n".join(
            [*texts, *([f"and {more:,} more"] if more else []), *([others] if others else [])]
        )


@frozen(eq=False)
class Seen:
    """The cores as they were seen together; a server reads it while the next is made."""

    recorders: Mapping[int, CoreRecorder] = field(factory=dict)
    """By the identity of the engine of the core."""
    names: Mapping[int, tuple[str, ...]] = field(factory=dict)
    """The queries of each."""
    changes: int = 0
    """How often queries have come or gone, and readings of cores that are gone."""

    @property
    def version(self) -> int:
        """How many readings there were, and changes of the queries."""
        return self.changes + sum(recorder.version for recorder in self.recorders.values())


@define(eq=False)
class Recorders:
    """Reads the engines of all cores. A page shows that of one query, the first if nobody says which."""

    engine: SharedEddy | None
    title: str = "Eddy"
    sources: Mapping[str, str] = field(factory=dict)
    began: float | None = None
    _seen: Seen = field(init=False, factory=Seen)

    def read(self, more: Mapping[str, Mapping[str, Any]] | None = None, now: bool = False) -> bool:
        """Read all cores, those for which it is time, or ``now``."""
        engine = self.engine
        if engine is None:
            return False
        self._look(engine)
        found = [_read(recorder, engine, more, now) for recorder in self._seen.recorders.values()]
        return any(found)

    def end(
        self, how: str, more: Mapping[str, Mapping[str, Any]] | None = None, closed: bool = False
    ) -> None:
        """The run is over: what is read now stays, and the engine may go."""
        if self.engine is not None:
            if not closed:
                self._look(self.engine)
            for recorder in self._seen.recorders.values():
                recorder.end(how, more, closed)
        self.engine = None

    @property
    def version(self) -> int:
        """How many readings there were, and changes of the queries."""
        return self._seen.version

    def told(self, query: str | None = None) -> dict[str, Any]:
        """What there is to say of the core of a query, as JSON has it, with all cores by their queries."""
        seen = self._seen
        here = next((key for key, names in seen.names.items() if query in names), None)
        if here is None:
            here = next(iter(seen.names), None)
        if here is None:
            return {**_NOTHING, "title": self.title, "version": seen.version}
        cores = [
            {"queries": few(names), "at": f"?query={quote(names[0], '')}", "here": key == here}
            for key, names in seen.names.items()
        ]
        title = f"{self.title}: {few(seen.names[here])}"
        return {**seen.recorders[here].told(), "title": title, "cores": cores, "version": seen.version}

    def json(self) -> str:
        """What there is to say of the first core, as a text."""
        return as_json(self.told())

    def _look(self, engine: SharedEddy) -> None:
        """See which queries there are, all at one moment."""
        cores, old = engine.cores_with_queries(), self._seen
        names = {id(core.engine): tuple(core.queries) for core in cores}
        if names == old.names:
            return
        recorders = {
            id(core.engine): old.recorders.get(id(core.engine))
            or CoreRecorder(core.engine, self.title, self.sources, began=self.began, queries=core.queries)
            for core in cores
        }
        every = [f"{few(n)}: {'one query' if len(n) == 1 else f'{len(n)} queries'}" for n in names.values()]
        shared = "Queries of this engine, those in one line with one plan and one set of STAIRs:\n  "
        others = shared + "\n  ".join(every)
        for core in cores:
            recorders[id(core.engine)].retell(core.queries, others)
        gone = sum(one.version for key, one in old.recorders.items() if key not in recorders)
        self._seen = Seen(recorders, names, old.changes + 1 + gone)


def _read(
    recorder: CoreRecorder, engine: SharedEddy, more: Mapping[str, Mapping[str, Any]] | None, now: bool
) -> bool:
    """Read a core, unless its queries go meanwhile."""
    try:
        return recorder.read(more, now)
    except Exception:
        if any(core.engine is recorder.engine for core in engine.cores_with_queries()):
            raise
        return False


_NOTHING: dict[str, Any] = {
    "format": 1,
    "start": 0,
    "query": "no query",
    "streams": [],
    "changes": [],
    "now": {},
    "ended": None,
    "series": {"t": [], "events": [], "results": [], "latency": [], "bytes": []},
    "cores": [],
}
"""Of an engine that has no query."""
