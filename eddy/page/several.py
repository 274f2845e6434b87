"""What the page shows of an engine of several queries: one core at a time, and which others there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from attrs import define, field

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


@define(eq=False)
class Recorders:
    """Reads the engines of all cores. A page shows that of one query, the first if nobody says which."""

    engine: SharedEddy | None
    title: str = "Eddy"
    sources: Mapping[str, str] = field(factory=dict)
    began: float | None = None
    _of: dict[int, CoreRecorder] = field(init=False, factory=dict)
    """By the identity of the engine of the core."""
    _cores: dict[int, tuple[str, ...]] = field(init=False, factory=dict)
    _changes: int = field(init=False, default=0)
    """How often queries have come or gone, and readings of cores that are gone."""

    def read(self, more: Mapping[str, Mapping[str, Any]] | None = None, now: bool = False) -> bool:
        """Read all cores, those for which it is time, or ``now``."""
        if self.engine is None:
            return False
        self._look(self.engine)
        found = [recorder.read(more, now) for recorder in self._of.values()]
        return any(found)

    def end(
        self, how: str, more: Mapping[str, Mapping[str, Any]] | None = None, closed: bool = False
    ) -> None:
        """The run is over: what is read now stays, and the engine may go."""
        if self.engine is not None:
            for recorder in self._of.values():
                recorder.end(how, more, closed)
        self.engine = None

    @property
    def version(self) -> int:
        """How many readings there were, and changes of the queries."""
        return self._changes + sum(recorder.version for recorder in self._of.values())

    def told(self, query: str | None = None) -> dict[str, Any]:
        """What there is to say of the core of a query, as JSON has it, with all cores by their queries."""
        here = next((key for key, names in self._cores.items() if query in names), None)
        if here is None and self._cores:
            here = next(iter(self._cores))
        if here is None:
            return {**_NOTHING, "title": self.title, "version": self.version}
        cores = [
            {"queries": few(names), "at": f"?query={quote(names[0], '')}", "here": key == here}
            for key, names in self._cores.items()
        ]
        title = f"{self.title}: {few(self._cores[here])}"
        return {**self._of[here].told(), "title": title, "cores": cores, "version": self.version}

    def json(self) -> str:
        """What there is to say of the first core, as a text."""
        return as_json(self.told())

    def _look(self, engine: SharedEddy) -> None:
        """See which queries there are."""
        queries, cores = engine.queries, engine.cores
        found = {id(engine.engine_of(names[0])): names for names in cores}
        if found == self._cores:
            return
        for key, names in found.items():
            if key not in self._of:
                own = {name: queries[name] for name in names}
                core = engine.engine_of(names[0])
                self._of[key] = CoreRecorder(core, self.title, self.sources, began=self.began, queries=own)
        gone = [recorder.version for key, recorder in self._of.items() if key not in found]
        self._of = {key: self._of[key] for key in found}
        self._cores, self._changes = found, self._changes + 1 + sum(gone)
        every = [
            f"{few(names)}: {'one query' if len(names) == 1 else f'{len(names)} queries'}" for names in cores
        ]
        shared = "Queries of this engine, those in one line with one plan and one set of STAIRs:\n  "
        others = shared + "\n  ".join(every)
        for key, names in found.items():
            self._of[key].retell({name: queries[name] for name in names}, others)


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
