"""The real sops program: round trips, refusals, and where the key can be seen meanwhile."""

from __future__ import annotations

import shlex
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from talops.errors import DeniedError, ToolError
from talops.redaction import Secret
from talops.secrets.age import AgeKey, KeyRing
from talops.secrets.importing import import_credentials
from talops.secrets.rules import rules_text
from talops.secrets.sops import Sops
from talops.secrets.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.slow
PLAIN = "a-very-plain-password"


@pytest.fixture
def key() -> AgeKey:
    return AgeKey.generate()


@pytest.fixture
def sops(tool: Callable[[str], Path], tmp_path: Path, key: AgeKey) -> Sops:
    root = tmp_path / "repo"
    root.mkdir()
    (root / ".sops.yaml").write_text(rules_text([key.recipient]))
    return Sops(tool("sops"), root, KeyRing((key,)))


def texts_below(folder: Path) -> str:
    return "\n".join(p.read_text() for p in folder.rglob("*") if p.is_file())


async def test_values_are_set_and_read(sops: Sops) -> None:
    """New file, changed value, unchanged value: only what changed gets new ciphertext."""
    vault = Vault.of(sops)
    assert await vault.read() == {}
    awkward = Secret('quo"te: {yes}\nno')
    assert await vault.write({"a": Secret(PLAIN), "b": awkward}) == ["a", "b"]
    first = vault.file.read_text()
    assert await vault.write({"a": Secret(PLAIN)}) == []
    assert await vault.write({"c": Secret("1.10")}) == ["c"]
    assert await vault.read() == {"a": Secret(PLAIN), "b": awkward, "c": Secret("1.10")}
    kept = [line for line in first.splitlines() if line.startswith(("a:", "b:"))]
    assert [ln for ln in vault.file.read_text().splitlines() if ln.startswith(("a:", "b:"))] == kept
    assert PLAIN not in texts_below(sops.root)


async def test_values_are_text(sops: Sops) -> None:
    """What looks like a number or a boolean comes back letter by letter."""
    vault = Vault.of(sops)
    values = {name: Secret(name) for name in ("007", "yes", "null", "1e3", " padded ", "0x1F")}
    await vault.write(values)
    assert await vault.read() == values


async def test_own_key_must_be_a_recipient(sops: Sops) -> None:
    """A rule without the current key is found before the first file is written."""
    (sops.root / ".sops.yaml").write_text(rules_text([AgeKey.generate().recipient]))
    vault = Vault.of(sops)
    with pytest.raises(DeniedError, match="cannot decrypt"):
        await vault.write({"a": Secret(PLAIN)})
    assert not vault.file.exists()


async def test_a_foreign_key_is_named(sops: Sops, key: AgeKey) -> None:
    """The refusal names the file, its recipients and the available keys."""
    vault = Vault.of(sops)
    await vault.write({"a": Secret(PLAIN)})
    other = AgeKey.generate()
    for ring, have in ((KeyRing((other,)), other.recipient), (None, "no key")):
        with pytest.raises(DeniedError) as caught:
            await Vault.of(replace(sops, keys=ring)).read()
        assert str(vault.file) in str(caught.value)
        assert key.recipient in caught.value.what
        assert have in caught.value.what


async def test_a_file_changed_by_hand_is_refused(sops: Sops) -> None:
    """The MAC of sops protects what it covers."""
    file = sops.root / "talos" / "x.sops.yaml"
    file.parent.mkdir()
    file.write_text(await sops.encrypt("a: one\nb: two\n", file))
    lines = file.read_text().splitlines()
    file.write_text("\n".join(line for line in lines if not line.startswith("a:")) + "\n")
    with pytest.raises(ToolError, match="edited by hand"):
        await sops.decrypt(file)


async def test_a_path_without_rule_is_refused(sops: Sops) -> None:
    """Nothing is encrypted without a recipient."""
    with pytest.raises(ToolError, match="no matching creation rules"):
        await sops.encrypt("a: 1\n", sops.root / "elsewhere" / "x.sops.yaml")


async def test_the_key_is_in_no_argument_environment_or_file(
    sops: Sops, key: AgeKey, tmp_path: Path
) -> None:
    """Every start of sops is recorded with its /proc entries; key and values are not in them."""
    seen = tmp_path / "seen"
    spy = tmp_path / "spy"
    spy.write_text(
        "#!/bin/sh\n"
        f"cat /proc/$$/cmdline /proc/$$/environ >>{shlex.quote(str(seen))}\n"
        f'exec {shlex.quote(str(sops.program))} "$@"\n'
    )
    spy.chmod(0o755)
    vault = Vault.of(replace(sops, program=spy))
    await vault.write({"a": Secret("old-value-here")})
    await vault.write({"a": Secret(PLAIN)})
    assert (await vault.read())["a"].reveal() == PLAIN
    everything = seen.read_text() + texts_below(sops.root)
    assert "SOPS_AGE_KEY_FILE=/proc/self/fd/" in everything
    for secret in (key.identity.reveal(), PLAIN, "old-value-here"):
        assert secret not in everything


async def test_credentials_move_into_the_encrypted_file(sops: Sops) -> None:
    """After import the inventory has none, the vault has all, and a second import does nothing."""
    inventory = sops.root / "cluster.yaml"
    text = f"# mine\ncluster_name: a\ntfstate_password: {PLAIN}\n\n# end\npool: x\n"
    inventory.write_text(text)
    vault = Vault.of(sops)
    assert await import_credentials(vault, inventory) == ["tfstate_password"]
    assert inventory.read_text() == "# mine\ncluster_name: a\n\n# end\npool: x\n"
    assert (await vault.read())["tfstate_password"].reveal() == PLAIN
    assert await import_credentials(vault, inventory) == []


async def test_a_missing_program_is_explained(sops: Sops) -> None:
    """With the command that installs it."""
    gone = replace(sops, program=sops.root / "no-sops")
    with pytest.raises(ToolError, match="cannot start sops") as caught:
        await gone.version()
    assert caught.value.hint == "talops tools install sops"


async def test_a_damaged_file_stays_as_it_is_when_setting_fails(sops: Sops) -> None:
    """A failed change leaves the old file and no copy behind."""
    vault = Vault.of(sops)
    await vault.write({"a": Secret(PLAIN)})
    before = vault.file.read_bytes()
    broken = Vault.of(replace(sops, program=shutil.which("false") or sops.root))  # type: ignore[arg-type]  # a str is as good as a Path here
    with pytest.raises(ToolError):
        await broken.write({"a": Secret("new")})
    assert vault.file.read_bytes() == before
    assert list(vault.file.parent.iterdir()) == [vault.file]
