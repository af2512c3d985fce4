"""What talops reads from a database of etcd is what etcd says itself."""

from __future__ import annotations

import gzip
import os
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from tests.backups.conftest import RECORDED, record

from talops.backups.bolt import DamagedError
from talops.backups.contents import Kind, kind_of, live_objects, read_contents

if TYPE_CHECKING:
    import random

    from tests.backups.conftest import Etcd

    from talops.backups.contents import Contents


def read(data: bytes) -> Contents:
    return read_contents(lambda at, size: data[at : at + size], len(data), "here")


def objects(data: bytes) -> dict[bytes, bytes]:
    return dict(live_objects(lambda at, size: data[at : at + size], len(data), "here"))


@pytest.mark.slow
async def test_every_object_of_a_real_etcd(etcd: Etcd, rng: random.Random) -> None:
    """After changes, deletions, compaction and large values: the keys and values of a range."""
    for number in range(300):
        key = f"/registry/{rng.choice(['pods', 'secrets'])}/default/{rng.randrange(80)}"
        if rng.random() < 0.2:
            await etcd.delete(key)
        else:
            await etcd.put(key, rng.randbytes(rng.choice([0, 10, 500, 5000, 200_000])))
        if number == 200:
            await etcd.compact()
    wanted, data = await etcd.everything(), await etcd.snapshot()
    assert objects(data) == wanted
    found = read(data)
    assert found.keys == len(wanted)
    counted = Counter(kind_of(key) for key in wanted)
    assert {name: kind.count for name, kind in found.kinds.items()} == counted
    assert found.storage_version.startswith("3.")
    head = await etcd.call("kv/range", key="AA==")
    assert found.revision == int(head["header"]["revision"])


@pytest.mark.slow
async def test_the_recording_is_what_etcd_makes(etcd: Etcd) -> None:
    """The snapshot that quick tests use has the content of a new one."""
    await record(etcd)
    data = await etcd.snapshot()
    if os.environ.get("TALOPS_UPDATE_GOLDENS"):
        RECORDED.write_bytes(gzip.compress(data, mtime=0))
    recorded = gzip.decompress(RECORDED.read_bytes())
    assert read(recorded) == read(data)
    assert objects(recorded) == await etcd.everything()


def test_counts_by_kind(snapshot: bytes) -> None:
    """The recording: three objects were deleted, one value is empty."""
    found = read(snapshot)
    assert {name: kind.count for name, kind in found.kinds.items()} == {
        "configmaps": 13,
        "leases": 11,
        "other": 1,
        "pods": 12,
        "secrets": 8,
        "services/specs": 12,
        "widgets.apps.example.org": 12,
    }
    assert found.keys == 69


def test_a_changed_value_changes_the_hash_of_its_kind(snapshot: bytes) -> None:
    """And of no other; a database without its digest has the same objects."""
    place = snapshot.rindex(b"third")
    changed = snapshot[:place] + b"fifth" + snapshot[place + 5 :]
    before, after = read(snapshot).kinds, read(changed).kinds
    assert [n for n in before if before[n] != after[n]] == ["configmaps"]
    assert after["configmaps"].count == before["configmaps"].count
    assert read(snapshot[:-32]) == read(snapshot)


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("/registry/pods/default/a", "pods"),
        ("/registry/namespaces/default", "namespaces"),
        ("/registry/services/endpoints/default/a", "services/endpoints"),
        ("/registry/cilium.io/ciliumnodes/a", "ciliumnodes.cilium.io"),
        ("/registry/apiregistration.k8s.io/apiservices/v1.", "apiservices.apiregistration.k8s.io"),
        ("compact_rev_key", "other"),
        ("/registry/health", "other"),
    ],
)
def test_kinds_of_keys(key: str, kind: str) -> None:
    """As API servers write them."""
    assert kind_of(key.encode()) == kind


def test_every_damage_is_said_or_harmless(snapshot: bytes, rng: random.Random) -> None:
    """A flipped bit or a missing end never ends in another error, nor in a loop."""
    good, refused = read(snapshot), 0
    for _ in range(400):
        damaged = bytearray(snapshot[: rng.choice([len(snapshot), rng.randrange(len(snapshot))])])
        for _ in range(rng.randint(1, 4)):
            if damaged:
                damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        try:
            assert isinstance(read(bytes(damaged)).kinds.get("pods", Kind(0, "")), Kind)
        except DamagedError:
            refused += 1
    assert refused > 50
    assert read(snapshot) == good
