"""DescribeCluster: who is there, for admin clients (KIP-700)."""

from typing import Final

from ottla.api.metadata import ALL_CLUSTER_OPERATIONS
from ottla.broker.node import Node
from ottla.broker.pipeline import Call
from ottla.errors import ErrorCode
from ottla.protocol.schema.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

BROKERS: Final = 1
CONTROLLERS: Final = 2


def handle(node: Node, call: Call, request: DescribeClusterRequest) -> DescribeClusterResponse:
    if request.endpoint_type != BROKERS:
        code = (
            ErrorCode.MISMATCHED_ENDPOINT_TYPE
            if request.endpoint_type == CONTROLLERS
            else ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
        )
        return DescribeClusterResponse(
            error_code=code,
            error_message="The request was sent to an endpoint of type BROKER, but the endpoint "
            f"type that it asks for is {request.endpoint_type}.",
        )
    response = DescribeClusterResponse(
        cluster_id=node.cluster_id,
        controller_id=node.node_id,
        brokers=[
            DescribeClusterBroker(node_id, host, port, rack)
            for node_id, host, port, rack in node.endpoints(node.image.brokers)
        ],
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = ALL_CLUSTER_OPERATIONS
    return response
