"""Delta and Iceberg tables as sinks: what is committed is there once, and what cannot be written is refused before."""

from __future__ import annotations

import datetime
import json
import os
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog import load_catalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField

import eddy
from eddy.cli import main

SCHEMA = pa.schema({"a": pa.int64(), "b": pa.int64()})


class Place:
    """A table that is still to be made."""

    def __init__(self, lake, folder):
        self.lake, self.folder = lake, folder
        self.where = {"uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}/warehouse"}
        properties = "&".join(f"{name}={value}" for name, value in self.where.items())
        self.address = f"delta://{folder}/t" if lake == "delta" else f"iceberg://c/n.t?{properties}"

    @property
    def catalogue(self):
        """The catalogue, by pyiceberg."""
        return load_catalog("c", **self.where)

    def read(self):
        """The table, by the lake's own library."""
        if self.lake == "delta":
            return DeltaTable(f"{self.folder}/t").to_pyarrow_table()
        return self.catalogue.load_table("n.t").scan().to_arrow()

    def append(self, table):
        """Rows of somebody else."""
        if self.lake == "delta":
            write_deltalake(f"{self.folder}/t", table, mode="append")
        else:
            self.catalogue.load_table("n.t").append(table)

    def numbers(self):
        """The column a, in order."""
        return sorted(self.read().column("a").to_pylist())

    def stray(self):
        """Data files that are no part of the table."""
        folder = self.folder / ("t" if self.lake == "delta" else "warehouse/n/t/data")
        there = {name for name in os.listdir(folder) if name.endswith(".parquet")}
        if self.lake == "delta":
            return there - {uri.rpartition("/")[2] for uri in DeltaTable(f"{self.folder}/t").file_uris()}
        tasks = self.catalogue.load_table("n.t").scan().plan_files()
        return there - {task.file.file_path.rpartition("/")[2] for task in tasks}

    def opened(self, token=None, schema=SCHEMA):
        """The sink, with a token as a checkpoint would have it."""
        sink = eddy.sink(self.address)
        sink.open(schema, json.loads(json.dumps(token)))
        return sink


@pytest.fixture(params=["delta", "iceberg"])
def place(request, tmp_path):
    return Place(request.param, tmp_path)


def rows(*numbers):
    """A table of these."""
    return pa.table({name: list(numbers) for name in "ab"}, SCHEMA)


def committed(sink, *numbers):
    """Write rows and commit them. The token."""
    sink.write(rows(*numbers))
    token = sink.prepare()
    sink.commit(token)
    return token


def test_what_is_prepared_is_not_seen_and_goes_where_no_checkpoint_names_it(place):
    """A process dies before its token is kept, another one before it has committed a token that was."""
    first = place.opened()
    kept = committed(first, 1, 2)
    first.write(rows(3))
    first.prepare()
    assert place.numbers() == [1, 2] and len(place.stray()) == 1
    second = place.opened(kept)
    assert place.numbers() == [1, 2] and not place.stray()
    second.write(rows(4))
    last = second.prepare()
    third = place.opened(last)
    third.commit(last)
    third.commit(third.prepare())
    assert place.numbers() == [1, 2, 4]
    committed(third, 5)
    third.close()
    assert place.numbers() == [1, 2, 4, 5] and not place.stray()


def test_a_commit_may_be_repeated(place):
    """By the same process, and by one that is given the token again and again."""
    first = place.opened()
    token = committed(first, 1)
    first.commit(token)
    for _ in range(2):
        again = place.opened(token)
        again.commit(token)
        again.close()
    assert place.numbers() == [1]


def test_a_damaged_checkpoint_takes_the_last_commits_back(place):
    """The checkpoint before is used: what was committed later is removed, also if this happens twice. Rows of others
    stay."""
    first = place.opened()
    kept = committed(first, 1)
    place.append(rows(100))
    committed(first, 2)
    place.append(rows(200))
    committed(first, 3)
    place.opened(kept)
    assert place.numbers() == [1, 100, 200]
    again = place.opened(kept)
    token = committed(again, 22)
    assert place.numbers() == [1, 22, 100, 200]
    place.opened(token)
    place.opened(kept)
    assert place.numbers() == [1, 100, 200]


def test_results_that_were_rewritten_cannot_be_taken_back(tmp_path):
    """It is refused, and the table stays as it is."""
    place = Place("delta", tmp_path)
    sink = place.opened()
    kept = committed(sink, 1)
    committed(sink, 2)
    DeltaTable(f"{tmp_path}/t").optimize.compact()
    with pytest.raises(eddy.EddyError, match="rewritten since"):
        place.opened(kept)
    assert place.numbers() == [1, 2]


def test_older_versions_can_be_read(tmp_path):
    """Those before others rewrote the data files, and before commits were taken back."""
    place = Place("delta", tmp_path)
    sink = place.opened()
    kept = committed(sink, 1)
    token = committed(sink, 2)
    before = DeltaTable(f"{tmp_path}/t").version()
    place.opened(kept)
    place.opened(kept)
    second = place.opened(kept)
    token = committed(second, 3)
    DeltaTable(f"{tmp_path}/t").optimize.compact()
    place.opened(token)
    assert place.numbers() == [1, 3]
    assert sorted(DeltaTable(f"{tmp_path}/t", before).to_pyarrow_table().column("a").to_pylist()) == [1, 2]


def test_data_files_of_a_commit_that_may_have_happened_stay(place, monkeypatch):
    """The table has taken them, and the disk fails then."""

    def fail(*_):
        raise OSError(5, "Input/output error")

    sink = place.opened()
    sink.write(rows(1))
    token = sink.prepare()
    module = f"eddy.sinks.{place.lake}"
    with monkeypatch.context() as patch:
        patch.setattr(
            f"{module}.{'Delta._force_log' if place.lake == 'delta' else 'Iceberg._force_metadata'}", fail
        )
        with pytest.raises(eddy.EddyError, match="Input/output error"):
            sink.commit(token)
    sink.abandon(False)
    assert place.numbers() == [1]


def test_a_table_that_was_put_back_is_missed(place):
    """Results would be lost in silence."""
    sink = place.opened()
    committed(sink, 1)
    token = committed(sink, 2)
    other = Place(place.lake, place.folder / "other")
    other.folder.mkdir()
    for _ in range(2):
        with pytest.raises(
            eddy.EddyError, match=r"no results of this run behind its commit 0, .* is of commit 2"
        ):
            other.opened(token)
        other.opened().close()  # now there is one, with nothing in it


def test_a_table_takes_the_results_of_many(place):
    """Of runs one after the other, of two at a time, and of others in between."""
    sinks = [place.opened(), place.opened()]
    for number in range(3):
        for place_of, sink in enumerate(sinks):
            committed(sink, 10 * place_of + number)
        place.append(rows(100 + number))
    assert place.numbers() == [0, 1, 2, 10, 11, 12, 100, 101, 102]


def test_a_run_that_fails_leaves_nothing(place):
    """Without checkpoints nobody comes back for its data files; with them what a checkpoint names stays."""
    sink = place.opened()
    sink.write(rows(1))
    sink.prepare()
    sink.write(rows(2))
    sink.abandon(False)
    assert place.numbers() == [] and not place.stray()
    sink = place.opened()
    sink.write(rows(1))
    token = sink.prepare()
    sink.write(rows(2))
    sink.abandon(True)
    assert place.numbers() == [] and len(place.stray()) == 1
    place.opened(token)
    assert place.numbers() == [1]


def test_no_results_have_columns(place):
    """The table is there, and empty."""
    sink = place.opened()
    sink.commit(sink.prepare())
    sink.close()
    assert place.read().schema.names == ["a", "b"] and place.numbers() == []


DAY = datetime.date(2024, 2, 29)
MOMENT = datetime.datetime(2024, 2, 29, 12, 30, 15, 250)
TYPES = {
    "i8": (pa.int8(), [-128, 127, None]),
    "i16": (pa.int16(), [-(2**15), 2**15 - 1, None]),
    "u8": (pa.uint8(), [0, 255, None]),
    "u16": (pa.uint16(), [0, 65535, None]),
    "u32": (pa.uint32(), [0, 2**32 - 1, None]),
    "u64": (pa.uint64(), [0, 2**64 - 1, None]),
    "f32": (pa.float32(), [0.5, float("inf"), None]),
    "f64": (pa.float64(), [0.1, -0.0, None]),
    "truth": (pa.bool_(), [True, False, None]),
    "text": (pa.dictionary(pa.int32(), pa.string()), ["a", "", None]),
    "long": (pa.large_string(), ["é", "\n", None]),
    "bytes": (pa.binary(), [b"\x00", b"", None]),
    "four": (pa.binary(4), [b"1234", b"\x00" * 4, None]),
    "day": (pa.date32(), [DAY, datetime.date(1900, 1, 1), None]),
    "second": (pa.timestamp("s"), [MOMENT.replace(microsecond=0), datetime.datetime(1900, 1, 1), None]),
    "moment": (pa.timestamp("us"), [MOMENT, datetime.datetime(1900, 1, 1), None]),
    "price": (pa.decimal128(10, 2), [Decimal("0.10"), Decimal("-99999999.99"), None]),
    "list": (pa.list_(pa.uint16()), [[1, None], [], None]),
    "struct": (
        pa.struct([("x", pa.int8()), ("y", pa.string())]),
        [{"x": 1, "y": "a"}, {"x": None, "y": None}, None],
    ),
    "clicks.user": (pa.int64(), [1, 2, None]),
    "COUNT(*)": (pa.int64(), [1, 2, None]),
}


def test_values_are_what_they_were(place):
    """Types that a lake lacks are widened."""
    types = dict(TYPES)
    if place.lake == "iceberg":
        types["clock"] = (pa.time32("ms"), [datetime.time(1, 2, 3, 4000), datetime.time(0), None])
    table = pa.table({name: pa.array(values, kind) for name, (kind, values) in types.items()})
    table = table.append_column(
        "zoned",
        pa.array([0, 10**15, None], pa.int64())
        .cast(pa.timestamp("us", "UTC"))
        .cast(pa.timestamp("us", "Asia/Tokyo")),
    )
    sink = place.opened(schema=table.schema)
    sink.write(table)
    sink.commit(sink.prepare())
    found = place.read()
    assert found.column_names == table.column_names
    assert found.to_pylist() == table.to_pylist()
    asked = 'SELECT MAX(u64), MAX("clicks.user"), COUNT(day) FROM found'
    assert duckdb.sql(asked).fetchall() == [(Decimal(2**64 - 1), 2, 2)]


@pytest.mark.parametrize(
    "kind, said",
    [
        (pa.duration("us"), "duration"),
        (pa.uuid(), "CAST.* AS VARCHAR"),
        (pa.timestamp("ns", "UTC"), "nanoseconds=cut"),
        (pa.time64("ns"), "CAST.* AS VARCHAR"),
        (pa.list_(pa.duration("s")), "list"),
        (pa.struct([("x", pa.month_day_nano_interval())]), "leave it out"),
    ],
)
def test_a_type_that_a_lake_lacks_is_refused(kind, said, place):
    """With the column, and what to write instead; nothing is made."""
    with pytest.raises(eddy.EddyError, match=f"cannot have these results: column bad is .*{said}"):
        place.opened(schema=pa.schema({"a": pa.int64(), "bad": kind}))
    assert os.listdir(place.folder) == []


def test_nanoseconds_are_cut_where_the_address_says_so(place):
    """Times before 1970 too; nothing else is said by this option."""
    mark = "&" if "?" in place.address else "?"
    place.address += f"{mark}nanoseconds=cut"
    table = pa.table({"at": pa.array([1_999, -1_000, None], pa.timestamp("ns", "UTC"))})
    sink = place.opened(schema=table.schema)
    sink.write(table)
    sink.commit(sink.prepare())
    assert place.read().column("at").cast(pa.int64()).to_pylist() == [1, -1, None]
    with pytest.raises(eddy.EddyError, match=r"nanoseconds=keep of .*: it can be cut"):
        eddy.sink(place.address.replace("=cut", "=keep"))


@pytest.mark.parametrize(
    "schema, said",
    [
        ({"a": pa.int64()}, "has no column b"),
        ({"a": pa.int64(), "b": pa.string()}, "column b .* is string, but int64"),
        ({"a": pa.int64(), "b": pa.int64(), "c": pa.int64()}, "has a column c, which the results lack"),
        (pa.schema([pa.field("a", pa.int64(), False), ("b", pa.int64())]), "column a .* must not be NULL"),
    ],
)
def test_a_table_of_another_schema_is_refused(schema, said, place):
    """Before anything is read."""
    schema = pa.schema(schema)
    if place.lake == "delta":
        DeltaTable.create(f"{place.folder}/t", schema)
    else:
        place.catalogue.create_namespace("n")
        place.catalogue.create_table("n.t", schema)
    with pytest.raises(eddy.EddyError, match=said):
        place.opened()


def test_columns_of_a_table_may_have_another_order(place):
    """Values go by names."""
    schema = pa.schema({"b": pa.int64(), "a": pa.int64()})
    committed(place.opened(schema=schema), 1)
    sink = place.opened()
    sink.write(pa.table({"a": [2], "b": [3]}))
    sink.commit(sink.prepare())
    assert sorted(map(str, place.read().to_pylist())) == ["{'b': 1, 'a': 1}", "{'b': 3, 'a': 2}"]


def test_tables_with_rules_of_their_own_are_refused(tmp_path):
    """Partitions and constraints: data files are not looked through for them."""
    write_deltalake(f"{tmp_path}/parted", rows(1), partition_by=["a"])
    write_deltalake(f"{tmp_path}/checked", rows(1))
    DeltaTable(f"{tmp_path}/checked").alter.add_constraint({"positive": "a > 0"})
    for name, said in (("parted", "is partitioned by a"), ("checked", "has .*(onstraint|positive)")):
        with pytest.raises(eddy.EddyError, match=said):
            eddy.sink(f"delta://{tmp_path}/{name}").open(SCHEMA, None)
    place = Place("iceberg", tmp_path)
    place.catalogue.create_namespace("n")
    columns = [NestedField(number, name, LongType(), required=False) for number, name in ((1, "a"), (2, "b"))]
    spec = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "a"))
    place.catalogue.create_table("n.t", Schema(*columns), partition_spec=spec)
    with pytest.raises(eddy.EddyError, match="is partitioned by a"):
        place.opened()


@pytest.mark.parametrize(
    "address, said",
    [
        ("delta://", "names no table"),
        ("delta+s3://bucket", "names no table"),
        ("delta+gs://bucket/t", "sinks write files of this machine, and"),
        ("delta:///dev/null/t", "cannot write the table delta:///dev/null/t: "),
        ("iceberg://c", "names no table"),
        ("iceberg://c/t", "names no table of a namespace"),
        ("iceberg:///n.t", "names no table of a namespace"),
        ("iceberg://nobody/n.t", "cannot open the catalogue nobody: .*uri=sqlite"),
        (
            "iceberg://c/n.t?uri=sqlite:////nowhere/c.db&warehouse=file:///nowhere",
            "cannot open the catalogue c",
        ),
    ],
)
def test_what_is_no_table_is_refused(address, said):
    """In one line that says what to write."""
    with pytest.raises(eddy.EddyError, match=said) as caught:
        sink = eddy.sink(address)
        sink.open(SCHEMA, None)
        committed(sink, 1)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("address", ["delta:///t", "iceberg://c/n.t"])
def test_data_files_are_parquet(address):
    """Another format is refused."""
    with pytest.raises(eddy.EddyError, match="not csv"):
        eddy.sink(address, format="csv")


def test_a_run_writes_a_table_with_signs(place):
    """Results that are withdrawn keep their sign; and the same call does nothing the second time."""
    orders = pa.table({"ts": [1, 2, 3], "k": [1, 2, 1]})
    query = "SELECT k, COUNT(*) AS n FROM orders [ROWS 9] GROUP BY k"
    for _ in range(2):
        eddy.run(
            query, {"orders": orders}, place.address, checkpoint=place.folder / "progress", every=0, batch=1
        )
    found = sorted(tuple(row.values()) for row in place.read().to_pylist())
    assert found == [(1, 1, -1), (1, 1, 1), (1, 2, 1), (2, 1, 1)]


def test_the_commands_write_and_read_tables(place, capfd):
    """`eddy run`, and the shell; and what they cannot write costs a line."""
    (place.folder / "A.csv").write_text("ts,a,b\n1,1,1\n2,2,2\n")
    source = f"A={place.folder}/A.csv"
    assert main(["run", "SELECT a, b FROM A [ROWS 1]", source, "--out", place.address, "--quiet"]) == 0
    assert place.numbers() == [1, 2]
    script = place.folder / "script.sql"
    script.write_text(
        f"CREATE STREAM A FROM '{place.folder}/A.csv'; INSERT INTO '{place.address}' SELECT a, b FROM A [ROWS 1];"
    )
    assert main(["sql", str(script)]) == 0
    assert place.numbers() == [1, 1, 2, 2]
    capfd.readouterr()
    assert main(["run", "SELECT a FROM A [ROWS 1]", source, "--out", place.address, "--quiet"]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("eddy: the table") and "has a column b, which the results lack" in line
