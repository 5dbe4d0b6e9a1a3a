"""What the view believes, and when it asks again."""

from ottla.client.cluster import Broker
from ottla.names import TopicPartition
from ottla.protocol.schema.metadata import MetadataRequest
from ottla.protocol.schema.produce import NodeEndpoint
from tests.unit.client.model import ModelCluster
from tests.unit.client.roles import Drive

WHERE = TopicPartition("t", 0)


def drive_of(nodes: int = 2) -> Drive:
    drive = Drive(ModelCluster(nodes))
    drive.model.create("t", 1)
    drive.learn("t")
    return drive


def asks(drive: Drive) -> tuple[list[str | None], bool] | None:
    for request in drive.answer_view():
        assert isinstance(request.request, MetadataRequest)
        names = [topic.name for topic in request.request.topics or []]
        return names, request.request.allow_auto_topic_creation
    return None


def test_a_leader_is_found() -> None:
    drive = drive_of()
    leader = drive.cluster.leader(WHERE)
    assert leader is not None
    assert (leader.leader, leader.leader_epoch) == (1, 0)
    assert drive.cluster.name(1) == "model:9001 (node 1)"


def test_a_leader_of_an_older_epoch_is_not_believed() -> None:
    drive = drive_of()
    log = drive.model.log("t")
    log.leader, log.leader_epoch = 2, 5
    drive.learn("t")
    log.leader, log.leader_epoch = 1, 4
    drive.learn("t")
    leader = drive.cluster.leader(WHERE)
    assert leader is not None
    assert leader.leader == 2


def test_another_topic_of_the_same_name_begins_with_its_own_epochs() -> None:
    drive = drive_of()
    drive.model.log("t").leader_epoch = 5
    drive.learn("t")
    drive.model.create("t", 1)
    drive.learn("t")
    leader = drive.cluster.leader(WHERE)
    assert leader is not None
    assert leader.leader_epoch == 0


def test_a_leader_that_no_broker_is_known_for_is_none() -> None:
    drive = drive_of()
    drive.model.log("t").leader = -1
    drive.learn("t")
    assert drive.cluster.leader(WHERE) is None


def test_a_hint_is_believed_if_it_is_newer_and_its_broker_is_known() -> None:
    drive = drive_of()
    assert not drive.cluster.learn_leader(WHERE, 2, 0, [])
    assert not drive.cluster.learn_leader(WHERE, 9, 1, [])
    assert drive.cluster.learn_leader(WHERE, 9, 1, [NodeEndpoint(9, "new", 1)])
    assert drive.cluster.brokers[9] == Broker(9, "new", 1)
    leader = drive.cluster.leader(WHERE)
    assert leader is not None
    assert leader.leader == 9


def test_it_asks_again_when_knowledge_is_old() -> None:
    drive = drive_of()
    assert asks(drive) is None
    deadline_ms = drive.cluster.next_deadline_ms()
    assert deadline_ms == drive.mono_ms + 300_000
    drive.mono_ms = deadline_ms
    assert asks(drive) == (["t"], False)
    assert asks(drive) is None


def test_a_new_topic_is_asked_for_at_once_a_known_one_after_a_while() -> None:
    drive = drive_of()
    drive.cluster.refresh()
    assert asks(drive) is None
    drive.cluster.want("other")
    assert asks(drive) == (["t", "other"], False)


def test_questions_without_an_answer_back_off() -> None:
    drive = drive_of()
    drive.cluster.want("other")
    waits = []
    for _ in range(6):
        asks(drive)
        deadline_ms = drive.cluster.next_deadline_ms()
        assert deadline_ms is not None
        waits.append(deadline_ms - drive.mono_ms)
        drive.mono_ms = deadline_ms
    assert waits == [100, 200, 400, 800, 1_000, 1_000]


def test_only_a_topic_to_be_created_is_asked_for_in_that_way() -> None:
    drive = drive_of()
    drive.cluster.want("new", create=True)
    assert asks(drive) == (["new"], True)
    drive.mono_ms += 1_000
    assert asks(drive) == (["t", "new"], False)
    drive.mono_ms += 1_000
    drive.model.auto_create_partitions = 1
    assert asks(drive) == (["new"], True)
    assert "new" in drive.cluster.topics
    drive.mono_ms += 1_000
    assert asks(drive) == (["t", "new"], False)
    drive.mono_ms += 10_000
    assert asks(drive) is None


def test_a_lost_question_is_asked_again() -> None:
    drive = drive_of()
    drive.cluster.want("other")
    (request,) = drive.cluster.poll(drive.now)
    drive.cluster.on_lost(request.token, "reset", True, drive.now)
    assert asks(drive) is None
    drive.mono_ms += 100
    assert asks(drive) is not None


def test_a_topic_that_is_gone_is_known_no_more() -> None:
    drive = drive_of()
    del drive.model.topics["t"]
    drive.learn("t")
    assert drive.cluster.leader(WHERE) is None
    assert "t" in drive.cluster.topic_errors
