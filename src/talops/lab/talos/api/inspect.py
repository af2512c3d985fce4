"""Which controller creates which resources, as far as a recording shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.lab.talos.call import Api
from talops.lab.talos.resources.definitions import known
from talops.talos.wire import inspect_pb2

if TYPE_CHECKING:
    from google.protobuf.empty_pb2 import Empty


class InspectApi(Api):
    """inspect.InspectService: ControllerRuntimeDependencies."""

    SERVICE = "inspect.InspectService"

    async def controller_runtime_dependencies(
        self, _: Empty
    ) -> inspect_pb2.ControllerRuntimeDependency:
        edges = [
            inspect_pb2.ControllerDependencyEdge(
                controller_name=definition.owner,
                edge_type=inspect_pb2.OUTPUT_EXCLUSIVE,
                resource_type=definition.type,
            )
            for definition in known(self.node.minor).values()
            if definition.owner
        ]
        return inspect_pb2.ControllerRuntimeDependency(edges=edges)
