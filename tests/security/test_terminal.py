"""Text of other systems is shown, and never obeyed, by the terminal of the user."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from typing import TYPE_CHECKING

from rich.live import Live
from rich.table import Table

from talops.cli.output import console, note, print_error, print_json
from talops.cli.streams import own, plain_streams
from talops.errors import TalopsError
from talops.views.plain_console import PlainConsole
from talops.visible import CONTROL, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

HOSTILE = "\x1b[2J\x1b]0;owned\x07 \x9b31m \u202etxt.exe \ud800 \r\x00"


@contextlib.contextmanager
def terminal() -> Iterator[io.StringIO]:
    """What reaches the terminal. Not a fixture: pytest exchanges the streams after those."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), plain_streams():
        yield out


def test_notes_and_errors() -> None:
    """A node's log line in an error is the usual way in."""
    with terminal() as out:
        note(HOSTILE)
        print_error(TalopsError(HOSTILE, where=HOSTILE, hint=HOSTILE))
    assert not CONTROL.search(out.getvalue())
    assert out.getvalue().count(r"\u001b[2J") == 4


def test_json_stays_json() -> None:
    """Programs read the same value; C1 characters are not escaped by JSON itself."""
    with terminal() as out:
        print_json({"log": HOSTILE})
    assert not CONTROL.search(out.getvalue())
    assert json.loads(out.getvalue()) == {"log": HOSTILE}


def test_tables() -> None:
    """Of rich, which writes to the stream itself."""
    table = Table("name")
    table.add_row(HOSTILE.replace("[", "("))
    with terminal() as out:
        console().print(table)
    assert not CONTROL.search(out.getvalue())
    assert r"\u001b" in out.getvalue()


def test_a_live_display_still_moves_its_cursor() -> None:
    """Only its texts are plain."""
    out = io.StringIO()
    live = PlainConsole(file=out, force_terminal=True, width=80)
    with Live(get_renderable=lambda: HOSTILE, console=live, auto_refresh=False) as shown:
        shown.refresh()
        shown.refresh()
    assert "\x1b[2J" not in out.getvalue()
    assert "\x1b]" not in out.getvalue()
    assert "\x9b" not in out.getvalue()
    assert "\x1b[2K" in out.getvalue(), "the display no longer erases its lines"


def test_what_a_user_asks_for_is_not_changed() -> None:
    """A secret that a script reads, byte for byte."""
    with terminal() as out:
        own(sys.stdout).write("a\r\n\x1b")
    assert out.getvalue() == "a\r\n\x1b"


def test_ordinary_text_is_untouched() -> None:
    """Tabs, lines and every script."""
    text = "a\tb\nÄ 漢字 🙂 ±"
    assert visible(text) == text
