"""The keys of a repository are made and separated by the real sops, and proven by trying each."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from talops.errors import TalopsError
from talops.secrets import split
from talops.secrets.age import AgeKey
from talops.secrets.check import check_repository
from talops.secrets.cluster_key import CURRENT, cluster_key
from talops.secrets.init import init
from talops.secrets.rules import load_rules, rules_text
from talops.secrets.sops import Sops
from talops.secrets.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from talops.secrets.cluster_key import ClusterKey

pytestmark = pytest.mark.slow

SECRET = "kind: Secret\nmetadata: {name: s}\nstringData: {k: v}\n"


async def made(program: Path, root: Path) -> tuple[Sops, ClusterKey]:
    sops = (await init(Sops(program, root), root / "age.key", hook=False)).sops
    key = cluster_key(await Vault.of(sops).read())
    assert key
    return sops, key


async def sealed(sops: Sops, name: str) -> Path:
    file = sops.root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(await sops.encrypt(SECRET, file))
    return file


async def test_init_makes_both_identities(tool: Callable[[str], Path], tmp_path: Path) -> None:
    """The cluster's opens what Flux applies; its private half is encrypted for the operator."""
    sops, key = await made(tool("sops"), tmp_path)
    await sealed(sops, "kubernetes/apps/a.sops.yaml")
    await sealed(sops, "talos/kubernetes/b.sops.yaml")
    alone = replace(sops, keys=key.ring)
    assert await split.prove(alone, "kubernetes") == 1
    assert await check_repository(sops) == []
    assert "AGE-SECRET-KEY" not in (sops.root / "infrastructure/secrets.sops.yaml").read_text()
    again = await init(sops, sops.root / "age.key", hook=False)
    assert again.files == ()
    assert cluster_key(await Vault.of(sops).read()) == key


async def test_sops_by_hand_follows_the_rules(tool: Callable[[str], Path], tmp_path: Path) -> None:
    """The real program, typed in a folder below, as owners do: same recipients."""
    sops, key = await made(tool("sops"), tmp_path)
    for folder, opens in (("kubernetes/apps", True), ("talos/kubernetes", False)):
        place = sops.root / folder
        (await sealed(sops, f"{folder}/other.sops.yaml")).with_name("x.sops.yaml").write_text(
            SECRET
        )
        words = ("encrypt", "--in-place", "x.sops.yaml")
        process = await asyncio.create_subprocess_exec(sops.program, *words, cwd=place, env={})
        assert await process.wait() == 0
        name = f"{folder}/x.sops.yaml"
        assert (key.goal.recipient in (sops.root / name).read_text()) is opens


async def test_a_file_that_the_cluster_could_open_is_found(
    tool: Callable[[str], Path], tmp_path: Path
) -> None:
    """By `secrets check` and by the proof; `secrets split` knows what to change."""
    sops, key = await made(tool("sops"), tmp_path)
    assert sops.keys
    (me,) = sops.keys.keys
    right = (sops.root / ".sops.yaml").read_text()
    (sops.root / ".sops.yaml").write_text(rules_text([me.recipient, key.goal.recipient]))
    await sealed(sops, "talos/x.sops.yaml")
    (sops.root / ".sops.yaml").write_text(right)
    found = {(each.rule, each.where.file) for each in await check_repository(sops)}
    assert ("cluster key", "talos/x.sops.yaml") in found
    with pytest.raises(TalopsError, match="the key of the cluster opens this file"):
        await split.prove(replace(sops, keys=key.ring), "kubernetes")
    pending = await split.pending(sops.root, key, "kubernetes")
    assert [(c.name, c.add, c.remove) for c in pending.files] == [
        ("talos/x.sops.yaml", (), (key.goal.recipient,))
    ]
    for change in pending.files:
        await split.change_file(sops, key, change)
    assert await check_repository(sops) == []
    assert await split.prove(replace(sops, keys=key.ring), "kubernetes") == 0


async def test_an_old_repository_keeps_its_one_key(
    tool: Callable[[str], Path], tmp_path: Path
) -> None:
    """`secrets init` there changes nothing: moving it is a command of its own."""
    sops, _ = await made(tool("sops"), tmp_path)
    assert sops.keys
    old = rules_text([key.recipient for key in sops.keys.keys])
    (sops.root / ".sops.yaml").write_text(old)
    await Vault.of(sops).write({}, remove=[CURRENT])
    await sealed(sops, "kubernetes/a.sops.yaml")
    assert (await init(sops, sops.root / "age.key", hook=False)).files == ()
    assert (sops.root / ".sops.yaml").read_text() == old
    assert cluster_key(await Vault.of(sops).read()) is None


async def test_a_colleague_is_no_reason_to_fail(
    tool: Callable[[str], Path], tmp_path: Path
) -> None:
    """Listed in .sops.yaml, but the files are not encrypted for the new key yet."""
    sops, _ = await made(tool("sops"), tmp_path)
    mate = AgeKey.generate()
    rules = (sops.root / ".sops.yaml").read_text()
    assert sops.keys
    me = sops.keys.keys[0].recipient
    (sops.root / ".sops.yaml").write_text(rules.replace(me, f"{me},{mate.recipient}"))
    theirs = replace(sops, keys=replace(sops.keys, keys=(mate,)))
    assert (await init(theirs, sops.root / "other.key", hook=False)).files == ()
    assert load_rules(sops.root)
