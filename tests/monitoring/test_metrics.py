"""Metrics of runs and engines, as Prometheus and OpenTelemetry read them."""

from __future__ import annotations

import itertools
import re
import socket
import urllib.request

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

import eddy
from eddy.monitoring.histogram import BOUNDS, Histogram
from eddy.monitoring.readings import METRICS, SHARE, Readings
from tests.runs import QUERY, expected, feed, write

SCHEMA = {"ts": "int64", "k": "int64"}
OURS = {name for name, metric in METRICS.items() if metric.label != "query"}
"""The others are those of several queries."""
PAIR = "SELECT A.ts AS a, B.ts AS b FROM A [RANGE 100], B [RANGE 100] WHERE A.k = B.k"


def engine(**options):
    """One with late, refused and waiting rows."""
    made = eddy.Eddy(eddy.sql(PAIR, dict.fromkeys("AB", SCHEMA)), "A B", lateness=5, late="drop", **options)
    made.push_all({"A": {"ts": [1, 50], "k": [1, 1]}, "B": {"ts": [40], "k": [1]}})
    made.push("B", {"ts": [3, 48], "k": [1, 1]})
    with pytest.raises(eddy.BatchError):
        made.push("A", {"ts": ["x", "y"], "k": [1, 1]})
    return made


def read(registry):
    """The values of a registry by name and label."""
    text = generate_latest(registry).decode()
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_an_engine_exports_what_statistics_say():
    """By stream, and the parts of memory add up."""
    made, registry = engine(memory="1 GB"), CollectorRegistry()
    with eddy.metrics(made, registry):
        found = read(registry)
    told = made.statistics()
    for stream in told.streams:
        assert found["eddy_rows_total", stream.name] == stream.rows
        assert found["eddy_late_rows_total", stream.name] == stream.late
        assert found["eddy_refused_rows_total", stream.name] == stream.refused
        assert found["eddy_waiting_rows", stream.name] == stream.waiting
        assert found["eddy_newest_event_time_seconds", stream.name] == stream.newest
        assert found["eddy_lag_seconds", stream.name] == stream.lag
        assert found["eddy_watermark_seconds", stream.name] == stream.watermark
    assert [s.late for s in told.streams] == [0, 1] and [s.refused for s in told.streams] == [2, 0]
    assert sum(value for key, value in found.items() if key[0] == "eddy_memory_bytes") == told.bytes
    assert found["eddy_memory_budget_bytes",] == 1 << 30
    assert read(registry) == {}


def test_times_are_seconds_since_1970():
    """Whatever unit the columns have."""
    schemas = {"A": {"ts": "timestamp[ms]", "k": "int64"}, "B": {"ts": "timestamp[us]", "k": "int64"}}
    query = eddy.sql(PAIR.replace("100", "10 SECOND"), schemas)
    made, registry = eddy.Eddy(query, "A B", lateness="2 s"), CollectorRegistry()
    made.push_all({"A": {"ts": [7_500], "k": [1]}, "B": {"ts": [9_000_000], "k": [1]}})
    with eddy.metrics(made, registry):
        found = read(registry)
    assert (found["eddy_newest_event_time_seconds", "A"], found["eddy_lag_seconds", "A"]) == (7.5, 1.5)
    assert found["eddy_watermark_seconds", "B"] == 7.0


@pytest.mark.parametrize("threads", [1, 2])
def test_a_run_answers_prometheus(threads, tmp_path):
    """While it lasts, with every metric there is."""
    tables, pages, urls = feed(3), [], []
    sources = {
        name: eddy.source(write(table, tmp_path / f"{name}.parquet")) for name, table in tables.items()
    }

    def ask(progress):
        urls.append(progress.metrics)
        with urllib.request.urlopen(progress.metrics) as answer:
            pages.append(answer.read().decode())

    eddy.run(
        QUERY,
        sources,
        tmp_path / "out.csv",
        **{"metrics": ":0", "memory": "1 GB", "checkpoint": tmp_path / "here", "every": 0, "lateness": 0},
        batch=10,
        on_progress=ask,
        threads=threads,
    )
    families = {family.name for family in text_string_to_metric_families(pages[-1])}
    assert families == {name.removesuffix("_total") for name in OURS}
    assert 'eddy_rows_total{stream="A"}' in pages[-1]
    assert re.search(r"^eddy_checkpoints_total [1-9]", pages[-1], re.MULTILINE)
    assert re.search(r"^eddy_batch_latency_seconds_count [1-9]", pages[-1], re.MULTILINE)
    assert urls[0].startswith("http://127.0.0.1:")
    with pytest.raises(OSError):
        urllib.request.urlopen(urls[0], timeout=5)


def test_opentelemetry_has_the_same_names_and_values():
    """Observable instruments, a histogram of batches; after the run its last values."""
    tables, reader = feed(4), InMemoryMetricReader()
    outcome = eddy.run(QUERY, tables, metrics=MeterProvider(metric_readers=[reader]), lateness=0, batch=10)
    (resource,) = reader.get_metrics_data().resource_metrics
    (scope,) = resource.scope_metrics
    found = {metric.name: list(metric.data.data_points) for metric in scope.metrics}
    assert found.keys() == OURS - {"eddy_memory_budget_bytes"}
    rows = {point.attributes["stream"]: point.value for point in found["eddy_rows_total"]}
    assert rows == outcome.rows
    assert [point.value for point in found["eddy_results_total"]] == [expected(tables).total()]
    (batches,) = found["eddy_batch_latency_seconds"]
    assert batches.count > 1 and batches.explicit_bounds == BOUNDS


def test_a_port_in_use_is_told_in_a_line():
    """Before anything is read."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(eddy.EddyError, match=f"127.0.0.1:{port}: it is in use; give another address"):
            eddy.run(QUERY, feed(1), metrics=f":{port}")


@pytest.mark.parametrize("to", ["nowhere", ":99999", True, "a:b:c"])
def test_what_is_no_address_is_refused(to):
    """The error says what one looks like."""
    with pytest.raises(eddy.EddyError, match="metrics are answered at an address such as :9100"):
        eddy.metrics(engine(), to)
    with pytest.raises(eddy.EddyError, match="metrics go to an address"):
        eddy.metrics(engine(), object())
    with pytest.raises(eddy.EddyError, match=r"metrics are those of an eddy.Eddy"):
        eddy.metrics("engine", to)


def test_a_reading_takes_a_hundredth_of_the_time_at_most():
    """It is used again until a hundred times as long as it took has passed."""
    now, reads = [0.0], []
    made = engine()

    def costly():
        reads.append(now[0])
        now[0] += 2.0
        return {}

    readings = Readings(made, costly, lambda: now[0])
    while now[0] < 1000:
        readings.values()
        now[0] += 1.0
    assert len(reads) == 5 and all(b - a >= SHARE * 2.0 for a, b in itertools.pairwise(reads))


def test_a_histogram_counts_what_is_at_most_a_bound():
    """As Prometheus wants its buckets; the last has all."""
    made = Histogram()
    for seconds in (0.001, 0.002, 3.0, 99.0):
        made.observe(seconds)
    found = dict(made.cumulative())
    assert (found[0.001], found[0.0025], found[5.0], found[float("inf")]) == (1, 2, 3, 4)
    assert (made.count, made.total) == (4, pytest.approx(102.003))


def test_the_docs_have_every_metric():
    """The table of docs/monitoring.md names them, their labels and kinds."""
    from tests.test_readme import PAGES

    for name, metric in METRICS.items():
        label = "" if metric.label is None else f"{{{metric.label}}}"
        assert f"| `{name}{label}` | {metric.kind} |" in PAGES["docs/monitoring.md"], name


def test_names_follow_the_conventions_of_prometheus():
    """A counter, and nothing else, ends with _total; units are in names, and are seconds, bytes or rows."""
    for name, metric in METRICS.items():
        assert re.fullmatch(r"eddy_[a-z_]+", name) and metric.help.endswith(".")
        assert name.endswith("_total") == (metric.kind == "counter")
        assert not re.search(r"milli|micro|kilo|mega|_ms\b", name)


def test_nothing_is_measured_where_nobody_asks():
    """Without metrics= no batch is timed."""
    loops = []
    eddy.run(QUERY, feed(2), control=loops.append)
    assert loops[0].meter.batches.count == 0
    assert loops[0].meter.url is None
