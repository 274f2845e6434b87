"""The example from Kafka to Delta Lake, on a cluster of the tests."""

from __future__ import annotations

from eddy.cli import main
from examples import topics
from examples.comparing import HERE, counted
from tests.kafkas import cluster


def test_from_kafka_to_delta(tmp_path):
    """More messages come between two runs of the same command; DuckDB has the same rows."""
    with cluster() as kafka:
        for name in ("orders", "payments"):
            kafka.call("topic_create", name, 1, 1)
        broker = f"kafka://{kafka.host}"
        topics.write(tmp_path, broker, rows=1_000)
        outcome = topics.run(tmp_path, broker)
        wanted = counted(topics.expected(tmp_path))
        assert outcome.results == wanted.total() > 400 and outcome.bad == {}
        assert counted(topics.found(tmp_path)) == wanted
        sources = [f"{name}={broker}/{name}" for name in ("orders", "payments")]
        places = ["--out", f"delta://{tmp_path}/paid", "--checkpoint", str(tmp_path / "progress")]
        assert main(["run", f"{HERE}/topics.sql", *sources, *places, "--quiet"]) == 0
        assert counted(topics.found(tmp_path)) == wanted
