"""Queries of the shape of the Join Order Benchmark (Leis et al., PVLDB 9(3), 2015), over small tables of its schema.

The benchmark has 113 queries over 33 join graphs, with 4 to 17 streams. Here are its graphs, each as often as there,
with every equality that the benchmark writes out; the filters are ours, of the kinds that it has. Statements of the
benchmark itself run over the same tables: ``python -m tests.sql.job FOLDER``, of files with one or many of them.
"""

from __future__ import annotations

import itertools
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import sqlglot
from sqlglot import exp

import eddy
from tests.sql.against_duckdb import expected, rows_of
from tests.sql.job_tables import TABLES, tables

GRAPHS = """
4 ct it mc mi_idx t|4 cn k mc mk t|3 k mi mk t|3 it k mi_idx mk t|3 ct it mc mi t|6 ci k mk n t|3 an ci it lt ml n pi t
4 an ci cn mc n rt t|4 an chn ci cn mc n rt t|3 chn ci cn ct mc rt t|4 cn ct k lt mc mk ml t
3 cn ct it1 it2 mc mi mi_idx t|4 cn ct it1 it2 kt mc mi mi_idx t|3 it1 it2 k kt mi mi_idx mk t
4 at cn ct it1 k mc mi mk t|4 an ci cn k mc mk n t|6 ci cn k mc mk n t|3 ci it1 it2 mi mi_idx n t
4 an chn ci cn it mc mi n rt t|3 cc cct1 cct2 chn ci k kt mk n t|3 cn ct k lt mc mi mk ml t
4 cn ct it1 it2 k kt mc mi mi_idx mk t|3 cc cct1 cn ct it1 k kt mc mi mk t|2 an chn ci cn it k mc mi mk n rt t
3 ci it1 it2 k mi mi_idx mk n t|3 cc cct1 cct2 chn ci it2 k kt mi_idx mk n t|3 cc cct1 cct2 cn ct k lt mc mi mk ml t
3 cc cct1 cct2 cn ct it1 it2 k kt mc mi mi_idx mk t|3 an cc cct1 cct2 chn ci cn it it3 k mc mi mk n pi rt t
3 cc cct1 cct2 ci it1 it2 k mi mi_idx mk n t|3 ci cn it1 it2 k mc mi mi_idx mk n t|2 k lt mk ml t1 t2
3 cn1 cn2 it1 it2 kt1 kt2 lt mc1 mc2 mi_idx1 mi_idx2 ml t1 t2
"""
"""How many queries, and the streams that each of them joins."""

KEYS = {
    "cc": {"subject_id": "cct1", "status_id": "cct2"},
    "ci": {"person_role_id": "chn", "role_id": "rt"},
    "mc": {"company_id": "cn", "company_type_id": "ct"},
    "mi": {"info_type_id": "it"},
    "mi_idx": {"info_type_id": "it"},
    "mk": {"keyword_id": "k"},
    "ml": {"link_type_id": "lt"},
    "pi": {"info_type_id": "it"},
    "t": {"kind_id": "kt"},
}
"""Of tables what refers to others; movies and persons are in the functions below."""
FILTERS = {
    "an": ["{}.name LIKE '%a%'", "{}.name IS NOT NULL AND ({}.name LIKE '%o%' OR {}.name LIKE 'A%')"],
    "at": ["{}.title <> ''", "{}.title IS NOT NULL"],
    "cct": [
        "{}.kind = 'cast'",
        "{}.kind LIKE '%complete%'",
        "{}.kind != 'crew'",
        "{}.kind IN ('cast', 'complete')",
    ],
    "chn": [
        "{}.name NOT LIKE '%Holmes%'",
        "({}.name LIKE '%man%' OR {}.name LIKE '%Man%')",
        "{}.name IS NOT NULL",
    ],
    "ci": ["{}.note LIKE '%(voice)%'", "{}.note IN ('(voice)', '(producer)', '(writer)')", "{}.note IS NULL"],
    "cn": [
        "{}.country_code = '[us]'",
        "{}.country_code != '[fr]' AND ({}.name LIKE '%Film%' OR {}.name LIKE 'A%')",
    ],
    "ct": [
        "{}.kind = 'distributors'",
        "{}.kind IS NOT NULL AND {}.kind != 'special effects'",
        "{}.kind LIKE '%o%'",
    ],
    "it": ["{}.info IN ('genres', 'rating')", "{}.info <> 'votes'", "{}.info LIKE '%t%'"],
    "k": ["{}.keyword = 'sequel'", "{}.keyword LIKE '%e%'", "{}.keyword IN ('murder', 'sequel', 'hero')"],
    "kt": ["{}.kind = 'movie'", "{}.kind IN ('movie', 'episode')"],
    "lt": ["{}.link LIKE '%follow%'", "{}.link IN ('follows', 'features')"],
    "mc": [
        "{}.note LIKE '%(200%)%'",
        "{}.note NOT LIKE '%(TV)%' AND {}.note LIKE '%(USA)%'",
        "{}.note IS NULL",
    ],
    "mi": [
        "{}.info IN ('Drama', 'Horror', 'Sweden')",
        "({}.info LIKE 'USA:%' OR {}.info = 'Drama')",
        "{}.note IS NULL",
    ],
    "mi_idx": ["{}.info > '4.0'", "{}.info < '8.5'", "{}.info BETWEEN '2.0' AND '9.0'"],
    "n": [
        "{}.gender = 'f' AND {}.name LIKE '%An%'",
        "({}.gender = 'm' OR ({}.gender = 'f' AND {}.name LIKE 'B%'))",
    ],
    "pi": ["{}.note = 'Ann'", "{}.note IS NOT NULL"],
    "rt": ["{}.role = 'actress'", "{}.role IN ('actor', 'actress', 'writer')"],
    "t": ["{}.production_year > 1990", "{}.production_year BETWEEN 1985 AND 2010 AND {}.title LIKE '%e%'"],
}
SHOWN = {
    "t": "title", "n": "name", "cn": "name", "mi": "info", "mi_idx": "info", "chn": "name", "lt": "link", "an": "name",
    "k": "keyword", "mc": "note",
}  # fmt: skip


def statements() -> Iterator[tuple[str, str]]:
    """All 113, by names like those of the benchmark."""
    for family, line in enumerate(re.split(r"[|\n]", GRAPHS.strip()), 1):
        count, *streams = line.split()
        for variant in range(int(count)):
            yield (
                f"{family}{'abcdef'[variant]}",
                statement(streams, random.Random(100 * family + variant), variant),
            )


def kind_of(stream: str) -> str:
    """The table's name in short: an alias may end in a number."""
    return stream.rstrip("0123456789")


def statement(streams: list[str], pick: random.Random, variant: int) -> str:
    """One query over these streams, with some filters."""
    shown = [s for s in streams if kind_of(s) in SHOWN]
    items = [f"MIN({_name(s)}.{SHOWN[kind_of(s)]}) AS {s}_first" for s in shown[-3:]]
    filtered = [s for s in streams if kind_of(s) in FILTERS]
    wanted = pick.sample(filtered, min(len(filtered), 2 + (len(streams) < 9)))
    filters = [pick.choice(FILTERS[kind_of(s)]).replace("{}", _name(s)) for s in streams if s in wanted]
    conditions = "\n  AND ".join([*filters, *equalities(streams)])
    tables = ",\n     ".join(f"{TABLES[kind_of(s)]} AS {_name(s)}" for s in streams)
    return f"SELECT {', '.join(items)}\nFROM {tables}\nWHERE {conditions}"


def _name(stream: str) -> str:
    return '"at"' if stream == "at" else stream


def equalities(streams: list[str]) -> list[str]:
    """All pairs of columns that are the same movie, or the same person, and what refers to the small tables."""
    movies: dict[str, list[str]] = {}
    for stream in streams:
        kind, number = kind_of(stream), stream.removeprefix(kind_of(stream)) if "t2" in streams else ""
        if kind == "ml":
            movies.setdefault("1" if "t2" in streams else "", []).append(
                f"{stream}.movie_id" if "pi" not in streams else f"{stream}.linked_movie_id"
            )
            if "t2" in streams:
                movies.setdefault("2", []).append(f"{stream}.linked_movie_id")
        elif kind in ("at", "cc", "ci", "mc", "mi", "mi_idx", "mk", "t"):
            column = "id" if kind == "t" else "movie_id"
            movies.setdefault(number or ("1" if "t2" in streams else ""), []).append(
                f"{_name(stream)}.{column}"
            )
    persons = [f"{s}.{'id' if s == 'n' else 'person_id'}" for s in streams if s in ("an", "ci", "n", "pi")]
    pairs = [pair for columns in (*movies.values(), persons) for pair in itertools.combinations(columns, 2)]
    found = [f"{one} = {other}" for one, other in pairs if "n" in streams or "person_id" not in one + other]
    for stream in streams:
        for column, target in KEYS.get(kind_of(stream), {}).items():
            of = _target(stream, target, streams)
            found += [f"{of}.id = {stream}.{column}"] if of else []
    return found


def _target(stream: str, target: str, streams: list[str]) -> str | None:
    """Which stream a column refers to: of several info types, each has its own."""
    number = stream.removeprefix(kind_of(stream))
    if target == "it":
        own = {"mi": "it1", "mi_idx": "it2", "pi": "it3"}[kind_of(stream)]
        options = [f"it{number}" if number else own, "it", *(["it2"] if stream == "mi_idx" else [])]
        options = options[:1] if stream == "mi_idx" and "mi" in streams else options
    else:
        options = [target + number, target]
    return next((option for option in options if option in streams), None)


def check(text: str, made: dict[str, pa.Table]) -> bool:
    """Half of the rows, then the rest: both times the groups are DuckDB's. Whether the final ones hold anything."""
    query = eddy.sql(text, {name: table.schema for name, table in made.items()})
    engine = eddy.Eddy(query)
    sources = {table.alias: table.name for table in sqlglot.parse_one(text).find_all(exp.Table)}
    found = None
    for part in range(2):
        for stream in query.streams:
            table = made[sources[stream]]
            half = len(table) // 2
            engine.push(stream, table.slice(half * part, None if part else half))
        used = {name: table.slice(0, len(table) if part else len(table) // 2) for name, table in made.items()}
        found = rows_of(engine.table().to_arrow())
        assert found == expected(re.sub(r"(?i)\bat\b(?=[.,])", "aka", text), used), (
            text
        )  # DuckDB: AT is a word
    assert found is not None
    return any(value is not None for row in found for value in row)


def main() -> int:
    """Run statements of a folder's files."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(Path(sys.argv[1]).glob("*.sql"))]
    found = [
        text.strip() for many in texts for text in re.sub(r"/\*.*?\*/", "", many).split(";") if text.strip()
    ]
    made = tables()
    full = sum(check(text, made) for text in found)
    print(f"{len(found)} statements give what DuckDB gives, {full} of them something")
    return 0


if __name__ == "__main__":
    sys.exit(main())
