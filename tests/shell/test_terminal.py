"""`eddy sql` at a real terminal: history, completion, several lines, Ctrl-C."""

from __future__ import annotations

import stat

import pyarrow as pa
import pytest

from tests.runs import feed, write
from tests.shell.terminal import Terminal

UP, TAB, ENTER, CTRL_C, CTRL_D = "\x1b[A", "\t", "\r", "\x03", "\x04"


@pytest.fixture
def place(tmp_path):
    """A folder with a file in a folder."""
    (tmp_path / "recorded").mkdir()
    write(feed(1)["A"], tmp_path / "recorded" / "clicks.csv")
    return tmp_path


def shell(place):
    return Terminal("sql", cwd=place, XDG_STATE_HOME=str(place / "state"))


def test_a_session(place):
    """Several lines, completion of a file, of a stream and of a column; an error; the history is there next time."""
    with shell(place) as terminal:
        terminal.expect("HELP; says which there are")
        terminal.expect("eddy>")
        terminal.type("CREATE STREAM clicks" + ENTER)
        terminal.expect("->")
        terminal.type("FROM 'rec" + TAB)
        terminal.expect("recorded/")
        terminal.type("cl" + TAB)
        terminal.expect("clicks.csv")
        terminal.type("';" + ENTER)
        terminal.expect("eddy>")
        terminal.type("SHOW STREAMS;" + ENTER)
        terminal.expect("stream  source               columns  time\n")
        terminal.expect("clicks  recorded/clicks.csv        4  ts\n")
        terminal.expect("eddy>")
        terminal.type("SELECT clicks.no" + TAB)
        terminal.expect("te")
        terminal.type("s FROM clicks [ROWS 1];" + ENTER)
        terminal.expect(
            "error: cannot select clicks.notes: stream clicks has no column notes: did you mean note?"
        )
        terminal.expect("eddy>")
        terminal.type("select id FROM cl" + TAB)
        terminal.expect("clicks")
        terminal.type(" [ROWS 1] WHERE id > 117;" + ENTER)
        assert terminal.expect("2 results of 120 clicks rows").endswith("\n id\n---\n118\n119\n")
        terminal.expect("eddy>")
        terminal.type("exit" + ENTER)
        assert terminal.ends() == 0
    history = place / "state" / "eddy" / "history"
    assert "+SHOW STREAMS;\n" in history.read_text()
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    with shell(place) as terminal:
        terminal.expect("eddy>")
        terminal.type(UP + UP)
        terminal.expect("select id FROM clicks [ROWS 1] WHERE id > 117;")
        terminal.type(ENTER)
        terminal.expect("error: there are no streams yet")
        terminal.expect("eddy>")
        terminal.type(CTRL_D)
        assert terminal.ends() == 0


def test_ctrl_c_ends_the_query_and_not_the_shell(place):
    """At the prompt it begins a new line."""
    with shell(place) as terminal:
        terminal.expect("eddy>")
        terminal.type("CREATE STREAM c FROM 'recorded/' WITH (follow = true);" + ENTER)
        terminal.type("SELECT id, note FROM c [ROWS 1] WHERE id < 3;" + ENTER)
        terminal.expect("\nid  note\n--  ----")
        terminal.expect("\n 0  A 0\n 1  A 1\n 2  A 2\n")
        later = {"ts": [500, 501], "k": [1, 1], "id": [-1, -1], "note": ["more", "waits"]}
        write(pa.table(later), place / "recorded" / "later.csv")
        terminal.expect("-1  more\n")
        terminal.type(CTRL_C)
        terminal.expect("4 results of 122 c rows in ")
        terminal.expect(", stopped before the end\n")
        terminal.expect("eddy>")
        terminal.type("nonsense")
        terminal.expect("nonsense")
        terminal.type(CTRL_C)
        terminal.expect("eddy>")
        terminal.type("SHOW STREAMS;" + ENTER)
        terminal.expect("c       recorded/")
        terminal.type("\\q" + ENTER)
        assert terminal.ends() == 0


def test_a_history_that_cannot_be_written_is_told_of(place):
    """And the shell works."""
    (place / "state").write_text("a file is in the way")
    with shell(place) as terminal:
        terminal.expect("warning: nothing is remembered: cannot write ")
        terminal.type("help" + ENTER)
        terminal.expect("CREATE [OR REPLACE] STREAM name")
        terminal.type("quit;" + ENTER)
        assert terminal.ends() == 0
