"""COSI resources: the node's own, its cluster's members, and the kinds that exist."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grpclib.const import Status
from grpclib.exceptions import GRPCError

from talops.lab.talos.call import Api
from talops.lab.talos.rbac import ADMIN
from talops.lab.talos.resources.content import recorded
from talops.lab.talos.resources.definitions import META, known, meta
from talops.lab.talos.resources.kinds import MEMBERS
from talops.talos.wire import cosi_pb2

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from talops.lab.talos.resources.store import Change, ResourceStore, Stored

_BOOKMARK = bytes(8)
_READ_ONLY = "user writes are not allowed"


class CosiApi(Api):
    """cosi.resource.State."""

    SERVICE = "cosi.resource.State"

    def _store(self, namespace: str, kind: str) -> ResourceStore:
        if namespace == META:
            return meta(self.node.minor)
        definition = known(self.node.minor).get(kind)
        if definition is None:
            text = f'resource type "{kind}" is not supported'
            raise GRPCError(Status.PERMISSION_DENIED, text)
        if definition.sensitive and ADMIN not in self.call.roles:
            raise GRPCError(Status.PERMISSION_DENIED, "not authorized")
        config = self.node.config
        if kind == MEMBERS[1] and config is not None and self.node.discovers:
            return self.node.fabric.discovery(config.cluster_id)
        return self.node.resources

    def _all(self, namespace: str, kind: str) -> list[Stored]:
        """The resources that follow from the node's state, and the others that real nodes have."""
        own = self._store(namespace, kind).list(namespace, kind)
        if namespace == META:
            return own
        found = {s.item.id: s for s in recorded(self.node, kind) if s.item.namespace == namespace}
        found |= {s.item.id: s for s in own}
        return [found[name] for name in sorted(found)]

    async def get(self, request: cosi_pb2.GetRequest) -> cosi_pb2.GetResponse:
        every = self._all(request.namespace, request.type)
        found = next((s for s in every if s.item.id == request.id), None)
        if found is None:
            text = (
                f"resource {request.type}({request.namespace}/{request.id}@undefined) doesn't exist"
            )
            raise GRPCError(Status.NOT_FOUND, text)
        return cosi_pb2.GetResponse(resource=found.wire())

    async def list(self, request: cosi_pb2.ListRequest) -> AsyncIterator[cosi_pb2.ListResponse]:
        wanted = _id_filter(request.options.id_query.regexp)
        for found in self._all(request.namespace, request.type):
            if wanted.search(found.item.id):
                yield cosi_pb2.ListResponse(resource=found.wire())

    async def watch(self, request: cosi_pb2.WatchRequest) -> AsyncIterator[cosi_pb2.WatchResponse]:
        store, single = self._store(request.namespace, request.type), request.HasField("id")
        with store.watch() as queue:
            yield cosi_pb2.WatchResponse()  # tells the client that the watch is active
            for event in self._first(request, single=single):
                yield cosi_pb2.WatchResponse(event=[event])
            while True:
                change = await queue.get()
                if _concerns(change.current, request, single=single):
                    yield cosi_pb2.WatchResponse(event=[_marked(_event(change))])

    def _first(self, request: cosi_pb2.WatchRequest, *, single: bool) -> Sequence[cosi_pb2.Event]:
        """A watch of one resource starts with its present state; a watch of a kind on request."""
        every = self._all(request.namespace, request.type)
        if single:
            found = next((s for s in every if s.item.id == request.id), None)
            if found is not None:
                return [cosi_pb2.Event(resource=found.wire(), event_type=cosi_pb2.CREATED)]
            nothing = cosi_pb2.Resource(
                metadata=cosi_pb2.Metadata(
                    namespace=request.namespace,
                    type=request.type,
                    id=request.id,
                    version="undefined",
                    phase="tearingDown",
                ),
                spec=cosi_pb2.Spec(yaml_spec="{}\n"),
            )
            return [cosi_pb2.Event(resource=nothing, event_type=cosi_pb2.DESTROYED)]
        if not request.options.bootstrap_contents:
            return []
        events = [
            cosi_pb2.Event(resource=found.wire(), event_type=cosi_pb2.CREATED) for found in every
        ]
        marker = cosi_pb2.Resource(
            metadata=cosi_pb2.Metadata(
                namespace=request.namespace, type=request.type, version="undefined", phase="running"
            ),
            spec=cosi_pb2.Spec(),
        )
        marker.metadata.created.GetCurrentTime()
        marker.metadata.updated.CopyFrom(marker.metadata.created)
        done = cosi_pb2.Event(resource=marker, event_type=cosi_pb2.BOOTSTRAPPED)
        return [*events, _marked(done)]

    async def create(self, _: cosi_pb2.CreateRequest) -> cosi_pb2.CreateResponse:
        raise GRPCError(Status.PERMISSION_DENIED, _READ_ONLY)

    async def update(self, _: cosi_pb2.UpdateRequest) -> cosi_pb2.UpdateResponse:
        raise GRPCError(Status.PERMISSION_DENIED, _READ_ONLY)

    async def destroy(self, _: cosi_pb2.DestroyRequest) -> cosi_pb2.DestroyResponse:
        raise GRPCError(Status.PERMISSION_DENIED, _READ_ONLY)


def _id_filter(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise GRPCError(Status.INVALID_ARGUMENT, f"id query: {error}") from error


def _concerns(stored: Stored, request: cosi_pb2.WatchRequest, *, single: bool) -> bool:
    key = stored.item.key
    if key[:2] != (request.namespace, request.type):
        return False
    return not single or key[2] == request.id


def _marked(event: cosi_pb2.Event) -> cosi_pb2.Event:
    """Real nodes send bookmarks; here a watch cannot continue from one."""
    event.bookmark = _BOOKMARK
    return event


def _event(change: Change) -> cosi_pb2.Event:
    if change.new is None:
        kind = cosi_pb2.DESTROYED
    else:
        kind = cosi_pb2.UPDATED if change.old else cosi_pb2.CREATED
    event = cosi_pb2.Event(resource=change.current.wire(), event_type=kind)
    if kind == cosi_pb2.UPDATED and change.old is not None:
        event.old.CopyFrom(change.old.wire())
    return event
