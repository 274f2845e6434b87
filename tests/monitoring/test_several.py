"""Metrics of several queries: streams once, results by query, plans by core."""

from __future__ import annotations

import urllib.request

from prometheus_client import CollectorRegistry

import eddy
from tests.monitoring.test_metrics import read
from tests.runs import feed

SCHEMAS = {name: {"ts": "int64", "k": "int64", "id": "int64"} for name in "ABC"}
JOIN = "SELECT A.id FROM A [RANGE 50], B [RANGE 50] WHERE A.k = B.k"
QUERIES = {
    "all": JOIN,
    "some": f"{JOIN} AND A.id > 5",
    "other": "SELECT C.id FROM C [RANGE 9], B [RANGE 9] WHERE C.k = B.k",
}


def test_an_engine_tells_of_its_streams_once_and_of_each_plan():
    """As `overall` says; a plan goes by the first of its queries."""
    engine = eddy.Eddy(
        {name: eddy.sql(text, schemas=SCHEMAS) for name, text in QUERIES.items()},
        lateness=5,
        late="drop",
        memory="1 GB",
    )
    registry = CollectorRegistry()
    rows = {"ts": [1, 50], "k": [1, 1], "id": [1, 2]}
    engine.push_all(dict.fromkeys("ABC", rows))
    engine.push("B", {"ts": [2], "k": [1], "id": [1]})
    engine.migrate("C B", query="other")
    with eddy.metrics(engine, registry):
        found = read(registry)
    told = engine.overall()
    for stream in told.streams:
        assert found["eddy_rows_total", stream.name] == stream.rows
        assert found["eddy_late_rows_total", stream.name] == stream.late
        assert found["eddy_waiting_rows", stream.name] == stream.waiting
        assert found["eddy_watermark_seconds", stream.name] == stream.watermark
    assert [stream.late for stream in told.streams] == [0, 1, 0]
    assert sum(value for key, value in found.items() if key[0] == "eddy_memory_bytes") == told.bytes
    assert found["eddy_core_plan_changes_total", "all"] == 0
    assert found["eddy_core_plan_changes_total", "other"] == found[("eddy_plan_changes_total",)] == 1
    assert ("eddy_core_plan_changes_total", "some") not in found
    assert found["eddy_core_results_total", "all"] == engine.statistics("all").results
    assert found[("eddy_memory_budget_bytes",)] == told.memory == engine.memory > 0


def test_a_core_goes_by_one_name_as_long_as_it_is_there():
    """Its first query's, though that is dropped, and comes again with another core."""
    engine = eddy.Eddy({name: eddy.sql(text, schemas=SCHEMAS) for name, text in QUERIES.items()})
    registry = CollectorRegistry()
    rows = {"ts": [1, 50], "k": [1, 1], "id": [1, 2]}
    engine.push_all(dict.fromkeys("ABC", rows))
    engine.migrate("B A", query="all")
    results = engine.statistics("all").results
    engine.drop("all")
    engine.add("all", eddy.sql(QUERIES["other"].replace("9", "8"), schemas=SCHEMAS))
    with eddy.metrics(engine, registry):
        found = read(registry)
    of = {key[1]: value for key, value in found.items() if key[0] == "eddy_core_plan_changes_total"}
    assert of == {"all": 1, "other": 0, "all (2)": 0}
    assert found["eddy_core_results_total", "all"] == results > 0
    engine.drop("some")
    with eddy.metrics(engine, registry):
        found = read(registry)
    assert {key[1] for key in found if key[0] == "eddy_core_results_total"} == {"other", "all (2)"}
    assert found[("eddy_plan_changes_total",)] == 1


def test_a_run_counts_the_results_of_each_query():
    """And of all of them."""
    asked = []

    def look(progress):
        if progress.ended:
            with urllib.request.urlopen(progress.metrics) as answer:
                asked.append(answer.read().decode())

    outcome = eddy.run(QUERIES, feed(1), metrics=":0", on_progress=look)
    for name, count in outcome.counts.items():
        assert f'eddy_query_results_total{{query="{name}"}} {float(count)}' in asked[0]
    assert f"eddy_results_total {float(outcome.results)}" in asked[0]
