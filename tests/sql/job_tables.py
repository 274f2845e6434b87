"""Small tables of the schema of the Join Order Benchmark: rows that refer to each other, with NULLs."""

from __future__ import annotations

import random

import pyarrow as pa

TABLES = {
    "an": "aka_name", "at": "aka_title", "cc": "complete_cast", "cct": "comp_cast_type", "chn": "char_name",
    "ci": "cast_info", "cn": "company_name", "ct": "company_type", "it": "info_type", "k": "keyword",
    "kt": "kind_type", "lt": "link_type", "mc": "movie_companies", "mi": "movie_info", "mi_idx": "movie_info_idx",
    "mk": "movie_keyword", "ml": "movie_link", "n": "name", "pi": "person_info", "rt": "role_type", "t": "title",
}  # fmt: skip
CHOICES = {
    "note": [None, "(voice)", "(voice) (uncredited)", "(producer)", "(writer)"],
    "note of mc": [None, "(2006) (USA) (TV)", "(2003) (USA)", "(1994) (USA) (VHS)", "(2008) (worldwide)"],
    "note of pi": [None, "Ann", "Bob"],
    "info of mi": ["Drama", "Horror", "Sweden", "USA: May 2004", "USA: June 1998", "Comedy"],
    "info of mi_idx": ["2.5", "5.0", "6.1", "7.4", "8.8", None],
}
WORDS = "Anna Angela Bert Bea Film Warner Aman Superman Holmes One Two The Return More".split()


def tables(seed: int = 0, movies: int = 40) -> dict[str, pa.Table]:
    """All tables, whose rows refer to each other."""
    pick = random.Random(seed)
    kinds = {
        "cct": ("kind", ["cast", "crew", "complete", "complete+verified"]),
        "ct": ("kind", ["distributors", "production companies", "special effects"]),
        "it": ("info", ["genres", "rating", "votes", "release dates", "trivia"]),
        "k": ("keyword", ["sequel", "murder", "hero", "love", "based-on-comic"]),
        "kt": ("kind", ["movie", "episode", "video game"]),
        "lt": ("link", ["follows", "followed by", "features"]),
        "rt": ("role", ["actor", "actress", "writer"]),
    }
    rows: dict[str, list[dict[str, object]]] = {
        kind: [{"id": i, column: value} for i, value in enumerate(values, 1)]
        for kind, (column, values) in kinds.items()
    }

    def text() -> str:
        return " ".join(pick.sample(WORDS, 2))

    def maybe(value: object, chance: float = 0.1) -> object:
        return None if pick.random() < chance else value

    persons, companies, roles = movies // 2, 8, 12
    years = [maybe(pick.randint(1980, 2015)) for _ in range(movies)]
    rows["t"] = [
        {
            "id": i,
            "title": text(),
            "kind_id": pick.choice([1, 1, 2, 3]),
            "production_year": years[i],
            "episode_nr": i,
        }
        for i in range(movies)
    ]
    rows["n"] = [
        {
            "id": i,
            "name": text(),
            "gender": maybe(pick.choice("mf")),
            "name_pcode_cf": pick.choice(["A5", "B2", "D1"]),
        }
        for i in range(persons)
    ]
    rows["cn"] = [
        {
            "id": i,
            "name": text(),
            "country_code": maybe(pick.choice(["[us]", "[us]", "[de]", "[fr]", "[jp]"])),
        }
        for i in range(companies)
    ]
    rows["chn"] = [{"id": i, "name": maybe(text())} for i in range(roles)]
    rows["an"] = [{"person_id": pick.randrange(persons), "name": text()} for _ in range(persons)]
    rows["at"] = [{"movie_id": pick.randrange(movies), "title": text()} for _ in range(movies)]
    rows["pi"] = [
        {
            "person_id": i,
            "info_type_id": pick.randint(1, 5),
            "info": text(),
            "note": pick.choice(CHOICES["note of pi"]),
        }
        for i in range(persons)
    ]
    many = {
        name: [pick.randrange(movies) for _ in range(movies * 3 // 2)]
        for name in ("cc", "ci", "mc", "mi", "mi_idx")
    }
    rows["cc"] = [
        {"movie_id": m, "subject_id": pick.randint(1, 2), "status_id": pick.randint(3, 4)} for m in many["cc"]
    ]
    rows["ci"] = [
        {
            **{
                "movie_id": m,
                "person_id": pick.randrange(persons),
                "person_role_id": maybe(pick.randrange(roles)),
            },
            **{"role_id": pick.randint(1, 3), "note": pick.choice(CHOICES["note"])},
        }
        for m in many["ci"]
    ]
    rows["mc"] = [
        {
            **{"movie_id": m, "company_id": pick.randrange(companies), "company_type_id": pick.randint(1, 3)},
            "note": pick.choice(CHOICES["note of mc"]),
        }
        for m in many["mc"]
    ]
    for kind in ("mi", "mi_idx"):
        rows[kind] = [
            {
                **{
                    "movie_id": m,
                    "info_type_id": pick.randint(1, 5),
                    "info": pick.choice(CHOICES[f"info of {kind}"]),
                },
                "note": maybe("internet", 0.5),
            }
            for m in many[kind]
        ]
    rows["mk"] = [{"movie_id": m, "keyword_id": pick.randint(1, 5)} for m in range(movies) for _ in range(2)]
    rows["ml"] = [
        {"movie_id": m, "linked_movie_id": pick.randrange(movies), "link_type_id": pick.randint(1, 3)}
        for m in range(movies)
    ]
    return {TABLES[kind]: pa.Table.from_pylist(found, _schema(found)) for kind, found in rows.items()}


def _schema(rows: list[dict[str, object]]) -> pa.Schema:
    numbers = [name for name in rows[0] if name == "id" or name.endswith(("_id", "year", "_nr"))]
    return pa.schema([(name, pa.int64() if name in numbers else pa.string()) for name in rows[0]])
