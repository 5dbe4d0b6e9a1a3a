import io
import sys

import pytest

from ottla.cli import progress
from ottla.cli.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "QUIET_SECONDS", 0.0)
    monkeypatch.setattr(progress, "REFRESH_SECONDS", 0.0)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")


@pytest.mark.usefixtures("at_once")
def test_a_terminal_sees_a_bar_of_what_is_known_to_come(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with Progress("letters", 200) as bar:
        bar.update(100, 5, 100)
    assert "letters" in terminal.getvalue()
    assert "50%" in terminal.getvalue()
    assert "5 records" in terminal.getvalue()


@pytest.mark.usefixtures("at_once")
def test_a_terminal_sees_a_count_where_no_end_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with Progress("letters", None) as bar:
        bar.update(100, 5, 100)
    assert "5 records" in terminal.getvalue()
    assert "%" not in terminal.getvalue()


@pytest.mark.usefixtures("at_once")
def test_others_see_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Progress("letters", 200) as bar:
        bar.update(100, 5, 100)
    assert capsys.readouterr() == ("", "")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with Progress("letters", 200, is_shown=False) as bar:
        bar.update(100, 5, 100)
    assert terminal.getvalue() == ""


def test_what_is_over_soon_shows_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "QUIET_SECONDS", 3600.0)
    with Progress("letters", 200) as bar:
        bar.update(100, 5, 100)
    assert terminal.getvalue() == ""
