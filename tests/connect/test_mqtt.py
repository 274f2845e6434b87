"""Topics of MQTT as sources and sinks, on a real broker."""

from __future__ import annotations

import json
import subprocess
import threading
import time

import pyarrow as pa
import pytest
from paho.mqtt import client as paho
from paho.mqtt import subscribe

import eddy
from tests import servers
from tests.connect.brokers import Going
from tests.relay import Relay

SCHEMA = {"ts": "int64", "k": "int64"}
ONE = "SELECT ts, k FROM A [ROWS 1]"


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    """A broker for all tests that leave it running."""
    with servers.Mosquitto(tmp_path_factory.mktemp("broker")) as server:
        yield server


@pytest.fixture
def own(tmp_path):
    """A broker that a test may stop, with options as it wants them."""
    begun = []

    def start(**options):
        begun.append(servers.Mosquitto(tmp_path, **options))
        begun[-1].start()
        return begun[-1]

    yield start
    for server in begun:
        server.stop(kill=True)


def address(server, path, user="", scheme="mqtt", port=None, **options):
    pairs = "&".join(f"{name}={value}" for name, value in options.items())
    return f"{scheme}://{user}localhost:{port or server.port}/{path}" + (f"?{pairs}" if pairs else "")


def followed(server, path, query=ONE, schema=SCHEMA, format=None, **options):
    """A run that listens already."""
    before = count(server, SUBSCRIBED)
    source = eddy.source(address(server, path, **options), schema=schema, format=format)
    run = Going(query, {"A": source})
    logged(server, SUBSCRIBED, before + 1)
    return run


SUBSCRIBED = "Sending SUBACK"


def count(server, text):
    """How many lines of the broker's log have a text."""
    return (server.folder / "Mosquitto.log").read_text().count(text)


def logged(server, text, times):
    """Wait until there are so many."""
    end = time.monotonic() + 10
    while count(server, text) < times and time.monotonic() < end:
        time.sleep(0.01)


def publish(server, messages, qos=1):
    """Messages of topics, in their order."""
    client = paho.Client(paho.CallbackAPIVersion.VERSION2)
    client.connect("localhost", server.port)
    client.loop_start()
    sent = [
        client.publish(topic, row if isinstance(row, bytes) else json.dumps(row), qos)
        for topic, row in messages
    ]
    for one in sent:
        one.wait_for_publish(10)
    client.disconnect()
    client.loop_stop()


def numbers(topic, count, first=0):
    return [(topic, {"ts": first + i, "k": i % 7}) for i in range(count)]


def test_topics_of_a_pattern_are_rows_with_their_topic(broker):
    """Whoever asks for it by a name has the topic as a column."""
    run = followed(broker, "home/+/t", "SELECT ts, k, room FROM A [ROWS 1]", topic="room")
    publish(
        broker,
        [
            ("home/a/t", {"ts": 1, "k": 5}),
            ("home/b/t", {"ts": 2}),
            ("other", {"ts": 3}),
            *numbers("home/c/t", 1, 9),
        ],
    )
    run.until(2)
    run.end()
    assert run.rows == [(1, 5, "home/a/t"), (2, None, "home/b/t")]


def test_a_query_may_want_the_topics_alone(broker):
    """Then it does not matter what is in the messages."""
    run = followed(broker, "alone/+", "SELECT t FROM A [ROWS 1]", {"k": "int64"}, topic="t")
    publish(broker, [("alone/a", {"k": 1}), ("alone/b", b"{")])
    run.until(2)
    run.end()
    assert run.rows == [("alone/a",), ("alone/b",)]


def test_the_pattern_of_all_topics_can_be_written_as_it_is(broker):
    """# is no fragment of an address; and payloads may be raw."""
    run = followed(broker, "raw/#", "SELECT value, t FROM A [ROWS 1]", None, "raw", topic="t")
    publish(broker, [("raw/a/b", b"one"), ("raw", b"two")])
    run.until(2)
    run.end()
    assert run.rows == [("one", "raw/a/b"), ("two", "raw")]


def test_bad_messages_are_told_of_with_their_topic(broker):
    """The run goes on."""
    run = followed(broker, "bad/+")
    publish(
        broker,
        [
            ("bad/x", b"{"),
            *numbers("bad/y", 2),
            ("bad/z", {"ts": None}),
            ("bad/z", b"\xff"),
            *numbers("bad/y", 1, 5),
        ],
    )
    run.until(2)
    outcome = run.end()
    place = f"mqtt://localhost:{broker.port}/bad"
    assert [letter.split(": ")[0] for letter in outcome.letters] == [f"{place}/x", f"{place}/z", f"{place}/z"]
    assert outcome.bad == {"A": 3}


def test_results_are_published(broker, tmp_path):
    """More of them than may be on their way at a time; nothing is left of the run."""
    before = threading.active_count()
    run = followed(broker, "results")
    table = pa.table({"ts": range(3000), "k": [1] * 3000})
    outcome = eddy.run(ONE, {"A": table}, address(broker, "results"))
    run.until(2999)
    run.end()
    assert outcome.results == 3000 and run.rows == list(zip(range(2999), [1] * 2999, strict=True))
    assert threading.active_count() <= before


def test_a_slow_run_is_not_sent_more_than_it_has_room_for(own, monkeypatch):
    """The broker keeps the rest, as long as its own limits let it."""
    monkeypatch.setattr("eddy.sources.mqtt.ROOM", 10)
    server = own(max_queued_messages=0)
    source = eddy.source(address(server, "s"), schema=SCHEMA).narrowed({"ts": pa.int64()}, 4)
    pieces = source.read(None)
    assert next(pieces).rows is None
    publish(server, numbers("s", 200))
    rows = []
    while len(rows) < 200:
        piece = next(pieces)
        assert piece.rows is None or len(piece.rows) <= 4
        rows += [] if piece.rows is None else piece.rows.column("ts").to_pylist()
    pieces.close()
    assert rows == list(range(200))


@pytest.mark.parametrize("version", [5, 3])
def test_a_broker_that_comes_back_is_listened_to_again(own, version):
    """What is published then arrives."""
    server = own()
    run = followed(server, "s", version=version)
    publish(server, numbers("s", 10))
    run.until(9)
    server.stop()
    server.start()
    logged(server, SUBSCRIBED, 2)
    publish(server, numbers("s", 10, 10))
    run.until(19)
    assert run.end().rows == {"A": 20}


def test_what_a_broker_keeps_while_the_connection_is_gone_arrives_once(own):
    """It knows us again, and sends what nobody has acknowledged."""
    server = own(max_queued_messages=0)
    with Relay(server.port) as relay:
        run = followed(server, "s", port=relay.port)
        publish(server, numbers("s", 100))
        run.until(99)
        logged(server, "Received PUBACK from eddy", 100)
        relay.cut()
        publish(server, numbers("s", 100, 100))
        relay.mend()
        run.until(199)
        assert run.end().rows == {"A": 200} and count(server, SUBSCRIBED) == 1
    assert run.rows == [(ts, ts % 100 % 7) for ts in range(199)]


def test_a_sink_waits_for_its_broker(own):
    """Each result arrives at least once, though the broker is ended and started again; it keeps what it has."""
    server = own(persistence="true", max_queued_messages=0)
    heard = set()
    reader = paho.Client(paho.CallbackAPIVersion.VERSION2, client_id="reader", clean_session=False)
    reader.reconnect_delay_set(1, 1)
    reader.on_message = lambda client, data, message: heard.add(json.loads(message.payload)["ts"])
    reader.connect("localhost", server.port)
    reader.subscribe("s", 1)
    reader.loop_start()

    def slowly():
        for number in range(40):
            if number == 20:
                server.stop()
                threading.Timer(0.3, server.start).start()
            yield {"ts": list(range(50 * number, 50 * number + 50)), "k": [1] * 50}

    outcome = eddy.run(ONE, {"A": slowly()}, address(server, "s"))
    end = time.monotonic() + 10
    while len(heard) < 2000 and time.monotonic() < end:
        time.sleep(0.01)
    reader.disconnect()
    reader.loop_stop()
    assert outcome.results == 2000 and heard == set(range(2000))


def test_a_sink_without_acknowledgements_goes_on_when_its_broker_is_back(own):
    """With QoS 0 what was on its way is lost; nothing waits for it, and what comes while the broker is away waits."""
    server = own()

    def rows():
        for number in range(60):
            if number == 20:
                server.stop(kill=True)
                threading.Timer(0.3, server.start).start()
            yield {"ts": list(range(50 * number, 50 * number + 50)), "k": [1] * 50}

    outcome = eddy.run(ONE, {"A": rows()}, address(server, "s", qos=0, retain="true", retry=20))
    assert outcome.results == 3000
    last = subscribe.simple("s", hostname="localhost", port=server.port)
    assert json.loads(last.payload)["ts"] >= 1000  # of after the broker had been away


def test_a_broker_that_stays_away_ends_the_run(own):
    """After as long as the address says."""
    server = own()
    run = followed(server, "s", retry=0.5)
    server.stop(kill=True)
    run.join()
    assert "has been away for 0.5 s: " in str(run.error) and "\n" not in str(run.error)


def test_what_cannot_be_is_told_in_a_line_at_once(broker, own, tmp_path):
    """No broker, a wrong password, options and topics that make no sense, no schema, a checkpoint."""
    (tmp_path / "users").write_text("")
    subprocess.run(
        ["mosquitto_passwd", "-b", str(tmp_path / "users"), "me", "secret"],
        check=True,
        env={"PATH": "/usr/bin:/bin"},
    )
    closed = own(allow_anonymous="false", password_file=tmp_path / "users")
    gone = own()
    gone.stop()
    table = {"A": pa.table({"ts": [1], "k": [1]})}
    both = [
        (address(gone, "x"), "cannot reach .* refused"),
        (address(closed, "x", "me:wrong@"), "does not let us in: Not authorized"),
        (address(broker, "x", other=1), "has no option 'other': use "),
        (address(broker, ""), "names no topic: write "),
        (address(broker, "x", qos=3), "qos is 0, 1 or 2, not 3"),
        (address(broker, "x", version=4), "version is 5 or 3, not '4'"),
        (address(broker, "x", retry="soon"), "retry is a number of seconds, not 'soon'"),
    ]
    for where, text in [*both, (address(broker, "a/+"), "results go to one topic")]:
        began = time.monotonic()
        with pytest.raises(eddy.EddyError, match=text) as error:
            eddy.run(ONE, table, where)
        assert "\n" not in str(error.value) and "wrong" not in str(error.value)
        assert time.monotonic() - began < 5
    for where, text in both:
        with pytest.raises(eddy.EddyError, match=text):
            eddy.run(ONE, {"A": eddy.source(where, schema=SCHEMA)})
    with pytest.raises(eddy.EddyError, match="is read once, so nothing can be inferred"):
        eddy.source(address(broker, "x"))
    with pytest.raises(eddy.EddyError, match="cannot go back to a position"):
        source = eddy.source(address(broker, "x"), schema=SCHEMA)
        eddy.run(ONE, {"A": source}, tmp_path / "out.csv", checkpoint=tmp_path / "progress")


def test_connections_are_encrypted_where_the_scheme_says_so(own, tmp_path):
    """The certificate must be from the authority that the address names."""
    certificate = servers.certificate(tmp_path)
    server = own(cafile=certificate[0], certfile=certificate[0], keyfile=certificate[1])
    table = {"A": pa.table({"ts": [1], "k": [1]})}
    eddy.run(ONE, table, address(server, "x", scheme="mqtts", ca=certificate[0]))
    for options, text in [({}, "certificate verify failed"), ({"ca": tmp_path / "none"}, "cannot be read")]:
        with pytest.raises(eddy.EddyError, match=text):
            eddy.run(ONE, table, address(server, "x", scheme="mqtts", **options))
