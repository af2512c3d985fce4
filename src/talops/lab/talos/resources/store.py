"""COSI resources in memory: get, list, and watches that see every change in order."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.timestamp_pb2 import Timestamp

from talops.lab.talos.config.decoding import to_yaml
from talops.lab.talos.resources.specs import encode
from talops.talos.wire import cosi_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from google.protobuf.message import Message

Key = tuple[str, str, str]  # namespace, type, id


@dataclass(frozen=True)
class Item:
    """A resource as its owner describes it; `yaml` is generated on read."""

    namespace: str
    type: str
    id: str
    proto: bytes
    yaml: Callable[[], str] = field(compare=False)
    owner: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()
    finalizers: tuple[str, ...] = ()
    revision: str = ""  # not shown: another one makes a new version

    @property
    def key(self) -> Key:
        return (self.namespace, self.type, self.id)


def item(
    kind: tuple[str, str], name: str, spec: Message, yaml: Any = None, *, owner: str = ""
) -> Item:
    """`kind` is namespace and type; YAML is derived from the message unless it is given."""

    @cache
    def text() -> str:
        return to_yaml(yaml if yaml is not None else MessageToDict(spec) or {"empty": True})

    return Item(kind[0], kind[1], name, spec.SerializeToString(deterministic=True), text, owner)


def built(
    kind: tuple[str, str], name: str, message: str, fields: dict[str, Any], yaml: Any
) -> Item:
    """As `item`, with the spec given by its fields."""
    return Item(kind[0], kind[1], name, encode(message, fields), functools.partial(to_yaml, yaml))


@dataclass(frozen=True)
class Stored:
    """An item with what the store knows about it."""

    item: Item
    version: int
    created: float
    updated: float

    def wire(self) -> cosi_pb2.Resource:
        metadata = cosi_pb2.Metadata(
            namespace=self.item.namespace,
            type=self.item.type,
            id=self.item.id,
            version=str(self.version),
            owner=self.item.owner,
            phase="running",
            created=_stamp(self.created),
            updated=_stamp(self.updated),
            labels=dict(self.item.labels),
            annotations=dict(self.item.annotations),
            finalizers=self.item.finalizers,
        )
        spec = cosi_pb2.Spec(proto_spec=self.item.proto, yaml_spec=self.item.yaml())
        return cosi_pb2.Resource(metadata=metadata, spec=spec)


@dataclass(frozen=True)
class Change:
    """What a watch sees: `old` is None for a new resource, `new` is None for a removed one."""

    old: Stored | None
    new: Stored | None

    @property
    def current(self) -> Stored:
        found = self.new or self.old
        assert found is not None
        return found


class ResourceStore:
    """Versions count up per resource; equal content is not a change."""

    def __init__(self) -> None:
        self._stored: dict[Key, Stored] = {}
        self._watches: set[asyncio.Queue[Change]] = set()

    def get(self, key: Key) -> Stored | None:
        return self._stored.get(key)

    def list(self, namespace: str, kind: str) -> list[Stored]:
        keys = sorted(k for k in self._stored if k[:2] == (namespace, kind))
        return [self._stored[key] for key in keys]

    def put(self, new: Item) -> None:
        old = self._stored.get(new.key)
        if old is not None and old.item == new:
            return
        now = time.time()
        version, created = (old.version + 1, old.created) if old else (1, now)
        self._stored[new.key] = Stored(new, version, created, now)
        self._tell(Change(old, self._stored[new.key]))

    def remove(self, key: Key) -> None:
        old = self._stored.pop(key, None)
        if old is not None:
            self._tell(Change(old, None))

    def replace(self, items: Iterable[Item]) -> None:
        """Make the store hold exactly these."""
        wanted = {new.key: new for new in items}
        for key in [key for key in self._stored if key not in wanted]:
            self.remove(key)
        for new in wanted.values():
            self.put(new)

    @contextlib.contextmanager
    def watch(self) -> Iterator[asyncio.Queue[Change]]:
        queue: asyncio.Queue[Change] = asyncio.Queue()
        self._watches.add(queue)
        try:
            yield queue
        finally:
            self._watches.discard(queue)

    def _tell(self, change: Change) -> None:
        for queue in self._watches:
            queue.put_nowait(change)


def _stamp(at: float) -> Timestamp:
    stamp = Timestamp()
    stamp.FromNanoseconds(int(at * 1_000_000_000))
    return stamp
