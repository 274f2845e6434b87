"""The page in a real browser: live, from a file, by keyboard and pointer, and with names that mean harm."""

from __future__ import annotations

import json
import urllib.error
import urllib.request

import pytest

import eddy
from eddy.page.html import write
from tests.page.browser import console
from tests.page.pages import HARM, decided, engine, push, text, wait


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
        wait(lambda: "3,000" in text(chrome, "numbers"), "the rows behind it do not come")
        assert text(chrome, "streams").count("1,000") == 3
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
        told[0] == stair.name and told[1] == f"{stair.live:,}" and told[3] == f"{100 * stair.fraction:.0f} %"
    )
    assert told[4:] == ["1", f"{stair.holes:,}", "0"]
    assert "B C" in text(chrome, "fans") and "A B" not in text(chrome, "fans")
    assert console(chrome) == []


def test_a_report_opens_from_a_file_and_tells_the_reason_of_a_change(chrome, tmp_path):
    """Without a network: an older change is chosen by keyboard, and what was believed, other plans and the gain are
    told."""
    made, path = decided(tmp_path / "run.html")
    chrome.get(f"file://{path}")
    first, newest = made.decisions[0], text(chrome, "reason")
    buttons = chrome.find_elements("css selector", "#changes button")
    assert len(buttons) == len(made.decisions) and buttons[0].get_attribute("aria-pressed") == "true"
    buttons[-1].send_keys(" ")
    told = text(chrome, "reason")
    assert told != newest and f"after {first.events:,} rows" in told
    assert first.reason in told and "(chosen)" in told and "(former)" in told
    assert all(other.plan in told for other in first.alternatives) and first.alternatives
    pressed = [button.get_attribute("aria-pressed") for button in buttons]
    assert pressed == ["false"] * (len(buttons) - 1) + ["true"]
    assert len(chrome.find_elements("css selector", "#charts canvas")) == 4
    assert console(chrome) == []
    requested = [
        json.loads(entry["message"])["message"]["params"]["request"]["url"]
        for entry in chrome.get_log("performance")
        if '"Network.requestWillBeSent"' in entry["message"]
    ]
    assert all(url.startswith(("file://", "data:", "http://127.0.0.1", "chrome")) for url in requested)


def test_a_click_near_a_line_of_a_chart_tells_of_that_change(chrome, tmp_path):
    """By pointer, in any of the charts: of the change whose line is nearest."""
    from selenium.webdriver.common.action_chains import ActionChains

    made = engine()
    with made.watch() as page:
        told = page.recorder.told()
    times = [0.0, 10.0, 20.0]
    told["series"] = dict.fromkeys(told["series"], times)
    plain = dict.fromkeys(("cost", "gain", "before", "after", "migration", "thinking", "reckoned"))
    told["changes"] = [
        plain | {"t": at, "events": 10 * int(at), "former": "A", "plan": f"plan {at}", "outcome": "changed"}
        | {"reason": f"the reason at {at}", "alternatives": []}
        for at in (5.0, 15.0)
    ]  # fmt: skip
    chrome.get(f"file://{write(tmp_path / 'run.html', told)}")
    assert "the reason at 15" in text(chrome, "reason")
    for chart in (0, 3):
        over = chrome.find_elements("css selector", "#charts .u-over")[chart]
        chrome.execute_script("arguments[0].scrollIntoView({block: 'center'})", over)
        for part, at in ((0.3, "5"), (0.7, "15")):
            aside = int((part - 0.5) * over.size["width"])
            ActionChains(chrome).move_to_element_with_offset(over, aside, 0).click().perform()
            assert f"the reason at {at}" in text(chrome, "reason"), (chart, part)
    assert console(chrome) == []


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
    chrome.get(f"file://{write(tmp_path / 'harm.html', told)}")
    assert HARM in text(chrome, "title") and HARM in text(chrome, "reason") and HARM in text(chrome, "query")
    assert HARM in text(chrome, "streams")
    assert not chrome.find_elements("css selector", "img")
    assert chrome.title != "harm"
    assert console(chrome) == []


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
