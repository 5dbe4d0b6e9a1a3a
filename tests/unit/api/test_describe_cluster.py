"""DescribeCluster: the nodes, for those who ask for brokers."""

import pytest

from ottla.errors import ErrorCode
from ottla.protocol.schema.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from tests.unit.broker.harness import Harness

NOT_ASKED = -(2**31)
# Create, alter, describe, act as the cluster, describe and alter configs, write idempotently.
EVERYTHING = sum(1 << operation for operation in (5, 7, 8, 9, 10, 11, 12))


@pytest.mark.parametrize(("included", "operations"), [(False, NOT_ASKED), (True, EVERYTHING)])
def test_it_names_the_cluster_its_controller_and_its_brokers(
    harness: Harness, included: bool, operations: int
) -> None:
    request = DescribeClusterRequest(include_cluster_authorized_operations=included)
    assert harness.connect().ask(request, 2) == DescribeClusterResponse(
        cluster_id=harness.node.cluster_id,
        controller_id=1,
        brokers=[DescribeClusterBroker(1, "broker", 9092, None)],
        cluster_authorized_operations=operations,
    )


@pytest.mark.parametrize(
    ("endpoint_type", "code"),
    [
        (0, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE),
        (2, ErrorCode.MISMATCHED_ENDPOINT_TYPE),
        (3, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE),
    ],
)
def test_who_asks_for_anything_but_brokers_is_told_nothing(
    harness: Harness, endpoint_type: int, code: ErrorCode
) -> None:
    answer = harness.connect().ask(DescribeClusterRequest(endpoint_type=endpoint_type), 1)
    assert (answer.error_code, answer.cluster_id, answer.brokers) == (code, "", [])
