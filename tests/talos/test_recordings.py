"""What real nodes answered, read by the client."""

from __future__ import annotations

from tests.recordings.talos import exchanges

from talops.quickyaml import load_all
from talops.talos.kinds import MACHINE_CONFIG
from talops.talos.resources import decode_resource
from talops.talos.wire import cosi_pb2


def test_the_config_that_a_node_runs() -> None:
    """Each recorded MachineConfig decodes to the YAML that the node also shows as text."""
    found = [
        decode_resource(cosi_pb2.ListResponse.FromString(response).resource)
        for exchange in exchanges()
        if exchange.method.endswith("/List")
        and cosi_pb2.ListRequest.FromString(exchange.request).type == MACHINE_CONFIG.type
        for response in exchange.responses
    ]
    assert {resource.id for resource in found} >= {"v1alpha1"}
    for resource in found:
        text = MACHINE_CONFIG.decode(resource)
        documents = [d for d in load_all(text) if "machine" in d]
        assert documents[0]["machine"]["type"] in {"controlplane", "worker"}
        assert text == resource.spec
