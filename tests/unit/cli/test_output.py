import pytest

from ottla.cli.output import Column, amount, print_json, print_table, printable, size_text


def test_a_table_without_a_terminal_is_plain_and_aligned(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_table(
        (Column("TOPIC"), Column("COUNT", True), Column("")), [("a", 5, ""), ("long", 1000, "x")]
    )
    assert capsys.readouterr().out == "TOPIC  COUNT\na          5\nlong    1000  x\n"


def test_what_would_move_a_cursor_is_shown_and_not_done() -> None:
    assert printable("a\x1b[31m\tb\n\x9b") == "a\\x1b[31m\tb\\x0a\\x9b"


def test_json_keeps_letters_of_every_script(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"name": "č"})
    assert capsys.readouterr().out == '{\n  "name": "č"\n}\n'


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (1_234_567, "1.2 MB"),
        (5e9, "5.0 GB"),
        (5e12, "5,000.0 GB"),
    ],
)
def test_sizes_are_short(size: float, text: str) -> None:
    assert size_text(size) == text


def test_one_is_no_plural() -> None:
    assert amount(1, "record") == "1 record"
    assert amount(1000, "record") == "1,000 records"
