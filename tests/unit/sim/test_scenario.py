import pytest

from ottla.sim.scenario import Block, Stage, parse, play

STORY = """# A record is there when it was answered.
start
topic t
produce t-0 values=a
fetch t-0
----
broker runs
topic t is there
a -> offset 0
0 a

# And again.
fetch t-0
----
0 a
"""


def test_a_story_is_blocks_of_comments_commands_and_output() -> None:
    first, second = parse(STORY)

    assert first.comments == ("# A record is there when it was answered.",)
    assert second == Block(("# And again.",), ("fetch t-0",), ("0 a",))


def test_a_story_that_goes_as_it_is_written_stays_as_it_is() -> None:
    played = "\n".join(block.text() for block in play(parse(STORY)))

    assert played == STORY


def test_a_story_without_output_gets_it() -> None:
    bare = [block._replace(output=()) for block in parse(STORY)]

    assert play(bare) == parse(STORY)


def test_a_command_that_is_none_is_not_passed_over() -> None:
    with pytest.raises(KeyError):
        Stage().do("dance")
