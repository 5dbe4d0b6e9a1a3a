import click
import pytest

from ottla.cli.parameters import address_text, on_bootstrap, on_pairs, on_separator, parse_address

CONTEXT = click.Context(click.Command("test"))
PARAMETER = click.Option(["--test"])


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:9092", ("127.0.0.1", 9092)),
        (" broker.example:0 ", ("broker.example", 0)),
        ("[::1]:9092", ("::1", 9092)),
        ("broker.example", None),
        ("::1:9092", None),
        ("[::1:9092", None),
        (":9092", None),
        ("host:", None),
        ("host:65536", None),
        ("host:-1", None),
        ("host:٣", None),
        ("ho st:1", None),
        ("", None),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, address: tuple[str, int] | None) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize("address", [("::1", 1), ("127.0.0.1", 9092)])
def test_an_address_reads_as_it_is_written(address: tuple[str, int]) -> None:
    assert parse_address(address_text(address)) == address


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("a", "a:9092"),
        ("a:1,b:2", "a:1,b:2"),
        (" a , [::1] ", "a:9092,[::1]:9092"),
    ],
)
def test_a_bootstrap_is_several_addresses_of_which_each_may_leave_out_the_port(
    text: str, read: str
) -> None:
    assert on_bootstrap(CONTEXT, PARAMETER, text) == read


@pytest.mark.parametrize("text", ["", "a,", "a:0", "a b"])
def test_a_bootstrap_without_an_address_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        on_bootstrap(CONTEXT, PARAMETER, text)


def test_the_value_of_a_pair_may_hold_what_it_likes() -> None:
    pairs = on_pairs(CONTEXT, PARAMETER, ("a=b=c", " d = e ", "f=", "a=g"))
    assert pairs == [("a", "b=c"), ("d", "e"), ("f", ""), ("a", "g")]


@pytest.mark.parametrize("text", ["a", "=a", " =a", ""])
def test_a_pair_without_a_key_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        on_pairs(CONTEXT, PARAMETER, (text,))


def test_a_separator_may_be_a_tab_by_name() -> None:
    assert on_separator(CONTEXT, PARAMETER, "\\t") == b"\t"
    assert on_separator(CONTEXT, PARAMETER, "→") == "→".encode()
    assert on_separator(CONTEXT, PARAMETER, None) is None


@pytest.mark.parametrize("text", ["", "\n", "a\nb"])
def test_a_separator_that_no_line_can_hold_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        on_separator(CONTEXT, PARAMETER, text)
