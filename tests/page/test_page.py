"""The page in a real browser: live, from a file, by keyboard, on a narrow screen, and with names that mean harm."""

from __future__ import annotations

import itertools
import json
import time
import urllib.error
import urllib.request

import numpy as np
import pytest

import eddy
from tests.page.browser import browser, console

HARM = "</script><img src=x onerror=\"document.title='harm'\">"


def engine(names="ABC", plan="(A B) C", **options):
    streams = {name: eddy.Stream({"ts": "int64", "k": "int64"}, window=eddy.Range(400)) for name in names}
    where = [f"{one}.k = {other}.k" for one, other in itertools.pairwise(names)]
    return eddy.Eddy(eddy.Query(streams, where), plan=plan, **options)


def push(of, count=500, start=0):
    ts = np.arange(start, start + count)
    of.push_all({name: {"ts": ts, "k": ts % 50} for name in of.query.names})


def wait(until, what, seconds=20):
    limit = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < limit, what
        time.sleep(0.05)


@pytest.fixture(scope="module")
def chrome(tmp_path_factory):
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


def text(chrome, name):
    return chrome.execute_script("return document.getElementById(arguments[0]).textContent", name)


def test_a_live_page_shows_a_plan_change_and_why(chrome):
    """It appears without a reload; a choice of the change tells what was measured; nothing is said on the console."""
    made = engine()
    push(made)
    with made.watch() as page:
        chrome.get(page.url)
        wait(lambda: "(A B) C" in text(chrome, "plan-text"), "the plan is not shown")
        assert [
            box.text
            for box in chrome.find_elements("css selector", "#picture .node.stream text:first-of-type")
        ]
        made.migrate("A (B C)")
        push(made, start=500)
        wait(lambda: "A (B C)" in text(chrome, "plan-text"), "the new plan does not come")
        wait(lambda: "B C" in text(chrome, "picture"), "the picture stays")
        assert "A B" not in text(chrome, "picture").replace("A (B", "")
        assert "1,000" in text(chrome, "streams") or "1,000" in text(chrome, "numbers")
    assert console(chrome) == []


def test_what_a_reader_points_at_stays_while_readings_come(chrome):
    """A button that is pressed slowly is still there, and nothing is said aloud of a reading without a plan change."""
    made = engine()
    push(made)
    made.migrate("A (B C)")
    with made.watch() as page:
        chrome.get(page.url)
        made.migrate("(A B) C")  # no row in between: both can be chosen
        wait(
            lambda: len(chrome.find_elements("css selector", "#changes button")) == 2,
            "the changes do not come",
        )
        older = chrome.find_elements("css selector", "#changes button")[1]
        older.click()
        assert older.get_attribute("aria-pressed") == "true"
        said, at = text(chrome, "said"), page.recorder.version
        assert "A (B C)" in said
        push(made, 10, 600)
        wait(lambda: page.recorder.version > at and "1,530" in text(chrome, "numbers"), "no reading comes")
        assert older.get_attribute("aria-pressed") == "true", "it has been replaced"
        assert text(chrome, "said") == said
    assert console(chrome) == []


def test_the_end_is_told_to_who_looks(chrome):
    """Not a connection that was lost: the last reading comes before the server goes."""
    made = engine()
    push(made)
    with made.watch() as page:
        chrome.get(page.url)
        wait(lambda: "live" in text(chrome, "status"), "the page is not live")
    wait(lambda: "closed, after" in text(chrome, "status"), text(chrome, "status"))
    assert text(chrome, "said") == "closed" and console(chrome) == []


def test_holes_and_what_is_completed_are_shown(chrome, tmp_path):
    """In a table, for who does not see the bars of the picture; partners are those of the plan in use."""
    made = engine()
    push(made)
    with made.watch() as page:
        made.migrate("A (B C)")
        made.push("A", {"ts": [500], "k": [7]})
        path = page.report(tmp_path / "run.html")
    (stair,) = made.statistics().stairs
    assert not stair.complete
    chrome.get(f"file://{path}")
    told = [cell.text for cell in chrome.find_elements("css selector", "#stairs td, #stairs tbody th")]
    assert (
        told[0] == stair.name and told[1] == f"{stair.live:,}" and told[3] == f"{int(100 * stair.fraction)} %"
    )
    assert told[4:] == ["1", f"{stair.holes:,}", "0"]
    assert "B C" in text(chrome, "fans") and "A B" not in text(chrome, "fans")
    assert console(chrome) == []


def decided(tmp_path):
    """The report of an engine whose policy has changed the plan."""
    from policies import Auto

    made = engine("ABCD", "((A B) C) D", routing=Auto(every=2048))
    random = np.random.default_rng(1)
    with made.watch() as page:
        for start in range(0, 60_000, 2_000):
            ts = np.arange(start, start + 2_000)
            keys = {"A": 3, "B": 3, "C": 400, "D": 400}
            made.push_all(
                {
                    n: {"ts": ts, "k": random.integers(0, most, 2_000) * (1 if most < 9 else 7)}
                    for n, most in keys.items()
                }
            )
            page.recorder.read()
            if made.decisions:
                break
        assert made.decisions, "the policy has decided nothing"
        push(made, 200, 70_000)
        return made, page.report(tmp_path / "run.html")


def test_a_report_opens_from_a_file_and_tells_the_reason_of_a_change(chrome, tmp_path):
    """Without a network: a change is chosen by keyboard, and what was believed, other plans and the gain are told."""
    made, path = decided(tmp_path)
    chrome.get(f"file://{path}")
    first = made.decisions[0]
    button = chrome.find_element("css selector", "#changes button")
    button.send_keys(" ")
    wait(lambda: first.plan in text(chrome, "changes"), "the change is not listed")
    told = text(chrome, "reason")
    assert first.reason in told and "(chosen)" in told and "(former)" in told
    assert all(other.plan in told for other in first.alternatives) and first.alternatives
    assert chrome.find_element("css selector", '#changes button[aria-pressed="true"]')
    assert len(chrome.find_elements("css selector", "#charts canvas")) == 4
    chrome.execute_script("document.querySelector('#charts .u-over').click()")
    assert console(chrome) == []
    requested = [
        json.loads(entry["message"])["message"]["params"]["request"]["url"]
        for entry in chrome.get_log("performance")
        if '"Network.requestWillBeSent"' in entry["message"]
    ]
    assert all(url.startswith(("file://", "data:", "http://127.0.0.1", "chrome")) for url in requested)


def test_names_that_mean_harm_do_nothing(chrome, tmp_path):
    """Markup in a title, a stream, a source and a reason is text, on the page and within its script."""
    made = engine()
    push(made)
    with made.watch() as page:
        page.recorder.title = HARM
        page.recorder.sources = {"A": HARM}
        told = page.recorder.told()
    told["streams"][0]["window"] = told["query"] = HARM
    told["now"]["streams"][0]["name"] = told["now"]["picture"]["nodes"][0]["label"] = HARM
    told["changes"] = [
        dict.fromkeys(("cost", "gain", "before", "after", "migration", "thinking", "reckoned"))
        | {
            "t": 0.1,
            "events": 1,
            "former": HARM,
            "plan": HARM,
            "outcome": HARM,
            "reason": HARM,
            "alternatives": [],
        }
    ]
    from eddy.page.html import write

    chrome.get(f"file://{write(tmp_path / 'harm.html', told)}")
    assert HARM in text(chrome, "title") and HARM in text(chrome, "reason") and HARM in text(chrome, "query")
    assert HARM in text(chrome, "streams")
    assert not chrome.find_elements("css selector", "img")
    assert chrome.title != "harm"
    assert console(chrome) == []


@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_is_wider_than_the_screen(chrome, tmp_path, width):
    """On a desk and on a telephone: tables and the picture scroll within their own boxes."""
    made = engine("ABCDE", "(((A B) C) D) E")
    push(made, 300)
    with made.watch() as page:
        path = page.report(tmp_path / "run.html")
    chrome.get(f"file://{path}")
    chrome.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    wide = chrome.execute_script("return document.documentElement.scrollWidth")
    chrome.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert wide <= width


def test_only_this_machine_is_answered(tmp_path):
    """The address is loopback, another name for it is refused, and a second page cannot have the same port."""
    made = engine()
    with made.watch() as page:
        assert page.url.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(page.url) as answer:
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        port = int(page.url.rsplit(":", 1)[1].strip("/"))
        request = urllib.request.Request(page.url, headers={"Host": "somewhere.example"})
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request)
        assert refused.value.code == 400
        with pytest.raises(eddy.EddyError, match=f"cannot have port {port}"):
            made.watch(port=port)
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(page.url, timeout=2)
    with pytest.raises(eddy.EddyError, match=r"watch takes an eddy\.Eddy, not a str"):
        eddy.watch("engine")


def test_a_report_may_be_written_when_all_is_over(tmp_path):
    """A page that was closed keeps what it read last, and holds no engine."""
    made = engine()
    push(made)
    with made.watch() as page:
        pass
    assert page.recorder.engine is None
    path = page.report(tmp_path / "run.html")
    with open(path) as file:
        assert '"ended": "closed"' in file.read()
    with pytest.raises(eddy.EddyError, match="cannot write"):
        page.report(tmp_path / "nowhere" / "run.html")
