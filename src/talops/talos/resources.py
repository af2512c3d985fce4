"""The resources of a node, as COSI shows them: get, list, watch, and the kinds that exist."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ruamel.yaml.error import YAMLError

from talops import quickyaml
from talops.talos.answers import moment, name_of, reading
from talops.talos.errors import CallFailedError, InvalidRequestError, NotFoundError
from talops.talos.wire import cosi_meta_pb2, cosi_pb2
from talops.talos.wire.cosi_grpc import StateStub

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence
    from datetime import datetime

    from talops.talos.calling import Caller

T = TypeVar("T")

META = "meta"
DEFINITIONS = "ResourceDefinitions.meta.cosi.dev"
LIST_TIMEOUT = 30.0
_WATCH_API = 1  # since it, a message carries several events, and errors


@dataclass(frozen=True)
class Resource:
    namespace: str
    type: str
    id: str
    version: str
    owner: str
    phase: str
    created: datetime
    updated: datetime
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    finalizers: tuple[str, ...] = ()
    proto_spec: bytes = field(default=b"", repr=False)
    yaml_spec: str = field(default="", repr=False)

    @cached_property
    def spec(self) -> Any:
        """The YAML form of the spec, as plain data; it exists for every kind."""
        try:
            return quickyaml.load(self.yaml_spec)
        except YAMLError:  # a multi-document machine config, for example: the text is the spec
            return self.yaml_spec


@dataclass(frozen=True)
class Kind(Generic[T]):
    """A kind of resource whose spec talops understands."""

    namespace: str
    type: str
    decode: Callable[[Resource], T]


@dataclass(frozen=True)
class Definition:
    """What a node says about a kind: its names, its namespace, its columns."""

    type: str
    display: str
    namespace: str
    aliases: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]
    sensitive: bool

    def answers_to(self, name: str) -> bool:
        return name.lower() in {self.type.lower(), *(alias.lower() for alias in self.aliases)}


@dataclass(frozen=True)
class Changed:
    """`event` is created, updated, destroyed, or bootstrapped after the present contents."""

    event: str
    resource: Resource | None
    old: Resource | None


class ResourceCalls:
    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._stub = StateStub(caller.link)
        self._definitions: list[Definition] | None = None

    async def get(self, namespace: str, type_: str, id_: str) -> Resource:
        """One resource; NotFoundError if it does not exist."""
        request = cosi_pb2.GetRequest(
            namespace=namespace, type=type_, id=id_, options=cosi_pb2.GetOptions()
        )
        got = await self._caller.unary(self._stub.Get, request, safe=True)
        return decode_resource(got.resource)

    async def list(self, namespace: str, type_: str) -> list[Resource]:
        request = cosi_pb2.ListRequest(
            namespace=namespace, type=type_, options=cosi_pb2.ListOptions()
        )
        items = await self._caller.collect(self._stub.List, request, timeout=LIST_TIMEOUT)
        return [decode_resource(item.resource) for item in items]

    async def watch(
        self, namespace: str, type_: str, id_: str | None = None, *, contents: bool = True
    ) -> AsyncGenerator[Changed]:
        """Changes as they happen, after the present contents unless disabled; without an end."""
        request = cosi_pb2.WatchRequest(
            namespace=namespace,
            type=type_,
            id=id_,
            options=cosi_pb2.WatchOptions(bootstrap_contents=contents and id_ is None),
            api_version=_WATCH_API,
        )
        async with aclosing(self._caller.stream(self._stub.Watch, request)) as messages:
            async for message in messages:
                for event in message.event:
                    if event.event_type == cosi_pb2.ERRORED:
                        raise CallFailedError(
                            f"the watch of {type_} failed: {event.error}", where=self._caller.where
                        )
                    if event.event_type != cosi_pb2.NOOP:
                        yield _changed(event)

    async def find(self, kind: Kind[T], id_: str) -> T | None:
        """The typed spec of one resource; None when the node has none."""
        try:
            found = await self.get(kind.namespace, kind.type, id_)
        except NotFoundError:
            return None
        return self._decoded(kind, found)

    async def all(self, kind: Kind[T]) -> Sequence[T]:
        """The typed specs of every resource of a kind."""
        return [self._decoded(kind, item) for item in await self.list(kind.namespace, kind.type)]

    def _decoded(self, kind: Kind[T], resource: Resource) -> T:
        with reading(f"{kind.type} {resource.id}", self._caller.where):
            return kind.decode(resource)

    async def resolve(self, name: str) -> Definition:
        """The kind that a user means by `members`, `disk` or the full type."""
        if self._definitions is None:
            found = await self.list(META, DEFINITIONS)
            with reading(DEFINITIONS, self._caller.where):
                self._definitions = [_definition(item) for item in found]
        matching = [d for d in self._definitions if d.answers_to(name)]
        if not matching:
            raise NotFoundError(
                f"there is no kind of resource called {name!r}",
                where=self._caller.where,
                hint="`talops talos get rd` lists them all",
            )
        if len(matching) > 1:
            raise InvalidRequestError(
                f"{name!r} can mean {', '.join(d.type for d in matching)}",
                where=self._caller.where,
                hint="use the full type",
            )
        return matching[0]


def decode_resource(message: Any) -> Resource:
    meta = message.metadata
    return Resource(
        namespace=meta.namespace,
        type=meta.type,
        id=meta.id,
        version=meta.version,
        owner=meta.owner,
        phase=meta.phase,
        created=moment(meta.created),
        updated=moment(meta.updated),
        labels=dict(meta.labels),
        annotations=dict(meta.annotations),
        finalizers=tuple(meta.finalizers),
        proto_spec=message.spec.proto_spec,
        yaml_spec=message.spec.yaml_spec,
    )


def _changed(event: Any) -> Changed:
    return Changed(
        event=name_of(cosi_pb2.EventType, event.event_type).lower(),
        resource=decode_resource(event.resource) if event.HasField("resource") else None,
        old=decode_resource(event.old) if event.HasField("old") else None,
    )


def _definition(resource: Resource) -> Definition:
    spec = cosi_meta_pb2.ResourceDefinitionSpec.FromString(resource.proto_spec)
    return Definition(
        type=spec.resource_type,
        display=spec.display_type,
        namespace=spec.default_namespace,
        aliases=(*spec.aliases, *spec.all_aliases),
        columns=tuple((column.name, column.json_path) for column in spec.print_columns),
        sensitive=spec.sensitivity == spec.SENSITIVE,
    )
