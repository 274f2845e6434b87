"""The page of an engine of several queries: one of each core, with a choice."""

from __future__ import annotations

import json
import urllib.request

import pytest

import eddy
from eddy.page.several import Recorders
from tests.page.browser import console
from tests.page.pages import text, wait
from tests.runs import feed

SCHEMAS = {name: {"ts": "int64", "k": "int64", "v": "int64"} for name in "ABC"}
JOIN = "SELECT A.v FROM A [RANGE 50], B [RANGE 50] WHERE A.k = B.k"
QUERIES = {
    "all": JOIN,
    "large & more": f"{JOIN} AND A.v > 5",
    "three": "SELECT A.v FROM A [RANGE 9], B [RANGE 9], C [RANGE 9] WHERE A.k = B.k AND B.k = C.k",
}


@pytest.fixture
def engine():
    engine = eddy.Eddy({name: eddy.sql(query, schemas=SCHEMAS) for name, query in QUERIES.items()})
    push(engine)
    return engine


def push(engine, start=0):
    rows = {"ts": list(range(start, start + 200)), "k": [i % 7 for i in range(200)], "v": list(range(200))}
    engine.push_all(dict.fromkeys("ABC", rows))


def asked(page, place="run.json", query=None):
    base = page.url.partition("?")[0]
    with urllib.request.urlopen(base + place + ("" if query is None else f"?query={query}")) as answer:
        return answer.read().decode()


def test_a_page_is_of_the_queries_of_one_core(engine):
    """Its title names them, its text says what each is, and which others there are."""
    with engine.watch() as page:
        first, other = json.loads(asked(page)), json.loads(asked(page, query="three"))
        assert first["title"] == "Eddy: all, large & more" and other["title"] == "Eddy: three"
        assert first["cores"] == [
            {"queries": "all, large & more", "at": "?query=all", "here": True},
            {"queries": "three", "at": "?query=three", "here": False},
        ]
        assert first["now"]["plan"] == engine.plan["all"] and other["now"]["plan"] == engine.plan["three"]
        assert [stream["name"] for stream in first["streams"]] == ["A", "B"]
        assert first["streams"][0]["columns"] == SCHEMAS["A"] and first["streams"][0]["filter"] is None
        assert "large & more\nstream A" in first["query"] and "filter A.v > 5" in first["query"]
        assert "all, large & more: 2 queries\n  three: one query" in first["query"]
        assert "__queries" not in json.dumps([first["query"], first["streams"]])
        assert "large &amp; more" in asked(page, "") or "large \\u0026 more" in asked(page, "")
        assert json.loads(asked(page, query="nobody"))["title"] == first["title"]


def test_a_page_may_begin_with_any_query(engine, tmp_path):
    """And so does its report."""
    with eddy.watch(engine, query="large & more") as page:
        assert page.url.endswith("/?query=large%20%26%20more")
        page.report(tmp_path / "one.html")
    with eddy.watch(engine, query="three") as page:
        page.report(tmp_path / "other.html")
    assert "Eddy: all, large" in (tmp_path / "one.html").read_text()
    assert '"Eddy: three"' in (tmp_path / "other.html").read_text()
    one = eddy.Eddy(eddy.sql(JOIN, schemas=SCHEMAS))
    with pytest.raises(eddy.EddyError, match="one query, which has no name"):
        eddy.watch(one, query="all")


def test_queries_come_and_go(engine):
    """The next reading knows, and what was read of the others stays."""
    recorder = Recorders(engine)
    recorder.read(now=True)
    push(engine, 200)
    recorder.read(now=True)
    version, points = recorder.version, len(recorder.told("all")["series"]["t"])
    engine.drop("three")
    engine.drop("all")
    engine.add("again", eddy.sql(QUERIES["three"].replace("9", "10"), schemas=SCHEMAS))
    recorder.read()
    told = recorder.told("large & more")
    assert [core["queries"] for core in told["cores"]] == ["large & more", "again"]
    assert told["title"] == "Eddy: large & more" and recorder.version > version
    assert len(told["series"]["t"]) == points and recorder.told("again")["now"]["results"] >= 0
    for name in list(engine.queries):
        engine.drop(name)
    recorder.read()
    assert recorder.told()["query"] == "no query" and recorder.told()["cores"] == []


def test_a_run_has_it_too():
    """While it goes on."""
    seen, loops = [], []

    def look(progress):
        if progress.page and not seen:
            with urllib.request.urlopen(f"{progress.page}run.json?query=three") as answer:
                seen.append(json.loads(answer.read()))

    queries = {name: query.replace(".v", ".id") for name, query in QUERIES.items()}
    outcome = eddy.run(queries, feed(1), watch=True, on_progress=look, control=loops.append, batch=10)
    assert seen[0]["title"] == "eddy run: three" and outcome.ended == "end"
    assert [core["queries"] for core in seen[0]["cores"]] == ["all, large & more", "three"]


def test_a_reader_chooses(chrome, engine):
    """By links, which a page of one query does not have; nothing is said on the console."""
    with engine.watch() as page:
        chrome.get(page.url)
        wait(lambda: "three" in text(chrome, "cores"), "there is no choice")
        assert text(chrome, "title") == "Eddy: all, large & more"
        chrome.find_element("link text", "three").click()
        wait(lambda: text(chrome, "title") == "Eddy: three", "the other page does not come")
        push(engine, 200)
        wait(lambda: "1,200" in text(chrome, "numbers"), "its readings do not come")
    assert console(chrome) == []
