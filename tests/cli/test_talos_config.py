"""`talops talos gen-secrets|gen-config|validate|schematic`, as they are typed."""

from __future__ import annotations

import io
import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from talops.machineconfig.contract import Contract
from talops.machineconfig.secrets import bundle as bundles

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Talops

CONFIGS = "talos/clusterconfig"
AGENT = "ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515"


@pytest.fixture(scope="session")
def secrets_text() -> str:
    from datetime import UTC, datetime

    return bundles.generate(datetime.now(UTC)).to_yaml()


@pytest.fixture
def ready(dev: Path, secrets_text: str) -> Path:
    """The `dev` example with secrets."""
    folder = dev / "talos"
    folder.mkdir()
    (folder / "talsecret.yaml").write_text(secrets_text, encoding="utf-8")
    return dev


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_new_secrets_are_private_and_never_overwritten(talops: Talops, dev: Path) -> None:
    """The file is for its owner alone; a second run refuses and leaves it as it is."""
    assert talops("talos", "gen-secrets", "--plain", "-C", dev).code == 0
    path = dev / "talos" / "talsecret.yaml"
    text = path.read_text(encoding="utf-8")
    assert mode(path) == 0o600
    assert bundles.from_yaml(text, where="x").contract is Contract.V1_14
    again = talops("talos", "gen-secrets", "--plain", "-C", dev)
    assert again.code == 1
    assert "never overwritten" in again.err
    assert path.read_text(encoding="utf-8") == text


def to_version(directory: Path, version: str) -> Path:
    """The `dev` example on another Talos version, with a Kubernetes that all of them support."""
    path = directory / "cluster.yaml"
    lines = path.read_text(encoding="utf-8").splitlines()
    lines = [line for line in lines if not line.startswith(("talos_version:", "kubernetes_v"))]
    lines += [f"talos_version: {version}", "kubernetes_version: v1.35.4", ""]
    path.write_text("\n".join(lines), encoding="utf-8")
    return directory


def pinned(directory: Path) -> Contract | None:
    path = directory / "talos" / "talsecret.yaml"
    return bundles.from_yaml(path.read_text(encoding="utf-8"), where="x").contract


@pytest.mark.parametrize(
    ("version", "contract"),
    [
        ("v1.12.4", Contract.V1_12),
        ("v1.13.9", Contract.V1_13),
        ("v1.14.1", Contract.V1_14),
    ],
)
def test_an_upgrade_keeps_the_contract_of_the_first_version(
    talops: Talops, dev: Path, version: str, contract: Contract
) -> None:
    """New secrets pin the contract of their Talos; a newer talos_version changes no shape."""
    to_version(dev, version)
    assert talops("talos", "gen-secrets", "--plain", "-C", dev).code == 0
    assert pinned(dev) is contract
    for later in (version, "v1.14.1"):
        assert talops("talos", "gen-config", "-C", to_version(dev, later)).code == 0
        text = (dev / CONFIGS / "dev-cp-1.yaml").read_text(encoding="utf-8")
        assert ("kind: KubeAPIServerConfig" in text) == (contract is Contract.V1_14)
        assert ("kind: UnattendedInstallConfig" in text) == (contract is Contract.V1_14)
    assert pinned(dev) is contract


def test_configs_of_contract_1_14(talops: Talops, dev: Path) -> None:
    """What gen-config writes for a cluster that began on Talos 1.14 is for that version only."""
    assert talops("talos", "gen-secrets", "--plain", "-C", dev).code == 0
    assert talops("talos", "gen-config", "-C", dev).code == 0
    config = dev / CONFIGS / "dev-cp-1.yaml"
    assert "kind: KubeAPIServerConfig" in config.read_text(encoding="utf-8")
    assert talops("talos", "validate", "--contract", "1.14", config).code == 0
    outcome = talops("talos", "validate", "--contract", "1.13", config)
    assert outcome.code == 1
    assert "supported from Talos 1.14 on" in outcome.out + outcome.err


def test_secrets_of_unknown_origin_need_a_contract(
    talops: Talops, dev: Path, secrets_text: str, tmp_path: Path
) -> None:
    """Nothing in a secrets file tells which Talos made it, so the inventory has to."""
    source = tmp_path / "secrets.yaml"
    source.write_text(secrets_text, encoding="utf-8")
    words = ("talos", "gen-secrets", "--plain", "-C", dev, "--from-secrets", source)
    outcome = talops(*words)
    assert outcome.code == 4
    assert "talos_contract: v1.13" in outcome.err
    inventory = dev / "cluster.yaml"
    text = inventory.read_text(encoding="utf-8") + "\ntalos_contract: v1.13\n"
    inventory.write_text(text, encoding="utf-8")
    assert talops(*words).code == 0
    assert pinned(dev) is Contract.V1_13


def test_a_config_shows_its_contract(talops: Talops, ready: Path) -> None:
    """The old shape, taken over on Talos 1.14, stays the old shape."""
    assert talops("talos", "gen-config", "-C", to_version(ready, "v1.13.9")).code == 0
    to_version(ready, "v1.14.1")
    (ready / "talos" / "talsecret.yaml").unlink()
    config = ready / CONFIGS / "dev-cp-1.yaml"
    assert talops("talos", "gen-secrets", "--plain", "-C", ready, "--from-config", config).code == 0
    assert pinned(ready) is Contract.V1_13


def test_secrets_need_a_recipient(talops: Talops, dev: Path) -> None:
    """Without .sops.yaml nothing is written, and the next command is named."""
    outcome = talops("talos", "gen-secrets", "-C", dev)
    assert outcome.code == 4
    assert "talops secrets init" in outcome.err
    assert not (dev / "talos").exists()


def test_secrets_from_talosctl(
    talops: Talops, dev: Path, secrets_text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An existing bundle is taken over from stdin and comes out as it was."""
    monkeypatch.setattr("sys.stdin", io.StringIO(secrets_text))
    outcome = talops("talos", "gen-secrets", "--from-secrets", "-", "--to", "-", "-C", dev)
    assert (outcome.code, outcome.out) == (0, secrets_text)


def test_no_second_secrets_by_mistake(talops: Talops, ready: Path, tmp_path: Path) -> None:
    """Where the cluster has its own, new ones are neither printed nor written elsewhere."""
    for target in ("-", tmp_path / "other.yaml"):
        outcome = talops("talos", "gen-secrets", "--to", target, "-C", ready)
        assert (outcome.code, outcome.out) == (1, "")
        assert "the cluster already has secrets" in outcome.err
        assert "to print the existing secrets: " in outcome.err
    assert not (tmp_path / "other.yaml").exists()


def test_secrets_from_a_running_control_plane(
    talops: Talops, ready: Path, secrets_text: str, tmp_path: Path
) -> None:
    """A control plane's config gives the same bundle; a worker's is refused."""
    assert talops("talos", "gen-config", "-C", ready).code == 0
    target = tmp_path / "out.yaml"
    words = ("talos", "gen-secrets", "-C", ready, "--to", target, "--from-config")
    assert talops(*words, ready / CONFIGS / "dev-cp-1.yaml").code == 0
    assert target.read_text(encoding="utf-8") == secrets_text
    assert mode(target) == 0o600
    assert talops(*words, ready / CONFIGS / "dev-cp-1.yaml").code == 1
    target.unlink()
    outcome = talops(*words, ready / CONFIGS / "dev-w-1.yaml")
    assert outcome.code == 1
    assert "not the config of a control plane" in outcome.err


def test_both_sources_are_too_many(talops: Talops, dev: Path) -> None:
    """One bundle has one source."""
    words = ("--from-secrets", "a", "--from-config", "b", "--to", "-")
    assert "not both" in talops("talos", "gen-secrets", *words, "-C", dev).err


def test_configs_are_written_once(talops: Talops, ready: Path) -> None:
    """One private file per node and a talosconfig, kept out of git; the second run changes none."""
    first = talops("talos", "gen-config", "-C", ready)
    assert first.code == 0
    folder = ready / CONFIGS
    names = {"dev-cp-1.yaml", "dev-w-1.yaml", "dev-w-2.yaml", "talosconfig", ".gitignore"}
    assert {path.name for path in folder.iterdir()} == names
    assert mode(folder) == 0o700
    assert all(mode(folder / name) == 0o600 for name in names - {".gitignore"})
    assert (folder / ".gitignore").read_text(encoding="utf-8") == "*\n"
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert talops("talos", "gen-config", "-C", ready).out == "up to date\n"
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    valid = talops("talos", "validate", *sorted(folder.glob("dev-*.yaml")))
    assert (valid.code, valid.out.count("valid")) == (0, 3)


def test_check_changes_nothing(talops: Talops, ready: Path) -> None:
    """`--check` says what would change with exit code 2."""
    outcome = talops("talos", "gen-config", "--check", "-o", "json", "-C", ready)
    assert outcome.code == 2
    report = json.loads(outcome.out)
    assert report["changed"] is False
    assert [file["action"] for file in report["files"]] == ["create"] * 4
    assert not (ready / CONFIGS).exists()


def test_hand_edits_are_refused(talops: Talops, ready: Path) -> None:
    """An edited config is not overwritten unless told so, and its text is not shown."""
    talops("talos", "gen-config", "-C", ready)
    path = ready / CONFIGS / "dev-w-1.yaml"
    path.write_text(path.read_text(encoding="utf-8") + "# mine\n", encoding="utf-8")
    outcome = talops("talos", "gen-config", "-C", ready)
    assert outcome.code == 1
    assert "edited by hand" in outcome.err
    assert "# mine" not in outcome.err
    assert path.read_text(encoding="utf-8").endswith("# mine\n")
    assert talops("talos", "gen-config", "--force", "-C", ready).code == 0
    assert "# mine" not in path.read_text(encoding="utf-8")


def test_a_removed_node_loses_its_config(talops: Talops, ready: Path) -> None:
    """The folder holds the configs of the inventory's nodes and no others."""
    talops("talos", "gen-config", "-C", ready)
    nodes = (ready / "nodes.yaml").read_text(encoding="utf-8")
    kept = nodes[: nodes.index("  - name: dev-w-2")]
    (ready / "nodes.yaml").write_text(kept, encoding="utf-8")
    outcome = talops("talos", "gen-config", "-C", ready)
    assert f"- {CONFIGS}/dev-w-2.yaml" in outcome.out
    assert not (ready / CONFIGS / "dev-w-2.yaml").exists()


def test_no_secrets_yet(talops: Talops, dev: Path) -> None:
    """The error names the command that makes them."""
    outcome = talops("talos", "gen-config", "-C", dev)
    assert outcome.code == 4
    assert "talops talos gen-secrets" in outcome.err


def test_two_secret_files_are_never_guessed_between(talops: Talops, ready: Path) -> None:
    """With both an encrypted and a plain file, the user has to decide."""
    (ready / "talos" / "talsecret.sops.yaml").write_text("a: b\n", encoding="utf-8")
    assert "both" in talops("talos", "gen-config", "-C", ready).err


def test_validate_tells_every_problem(talops: Talops, tmp_path: Path) -> None:
    """Problems on stderr, exit 1; the same as JSON."""
    path = tmp_path / "bad.yaml"
    path.write_text("machine: {type: nope, bogus: 1}\ncluster: {}\n", encoding="utf-8")
    outcome = talops("talos", "validate", path)
    assert outcome.code == 1
    assert "machine.bogus" in outcome.err
    report = json.loads(talops("talos", "validate", "-o", "json", path).out)
    assert report["files"][0]["problems"]


@pytest.mark.parametrize("path", ["missing.yaml", "."])
def test_unreadable_files(talops: Talops, tmp_path: Path, path: str) -> None:
    """A file that cannot be read is an error of its own, not an invalid config."""
    outcome = talops("talos", "validate", tmp_path / path)
    assert outcome.code == 1
    assert "cannot read" in outcome.err


def test_schematic_of_options(talops: Talops, dev: Path) -> None:
    """The id is computed offline."""
    words = ("talos", "schematic", "--extension", "siderolabs/qemu-guest-agent", "-C", dev)
    assert talops(*words).out == f"{AGENT}\n"
    assert json.loads(talops(*words, "-o", "json").out)["id"] == AGENT


def test_schematic_of_a_file(talops: Talops, tmp_path: Path) -> None:
    """A schematic in any spelling gives the canonical id; a wrong field is named."""
    path = tmp_path / "schematic.yaml"
    text = "customization: {systemExtensions: {officialExtensions: [siderolabs/qemu-guest-agent]}}"
    path.write_text(text, encoding="utf-8")
    assert talops("talos", "schematic", "--file", path).out == f"{AGENT}\n"
    path.write_text("customisation: {}\n", encoding="utf-8")
    assert "customisation" in talops("talos", "schematic", "--file", path).err
    both = talops("talos", "schematic", "--file", path, "--extension", "a/b")
    assert "not both" in both.err


def test_schematics_of_the_inventory(talops: Talops, dev: Path) -> None:
    """Every node with its id."""
    rows = json.loads(talops("talos", "schematic", "-o", "json", "-C", dev).out)["nodes"]
    assert [row["node"] for row in rows] == ["dev-cp-1", "dev-w-1", "dev-w-2"]
    assert all(len(row["id"]) == 64 for row in rows)


@pytest.mark.slow
def test_encrypted_secrets(
    talops: Talops,
    dev: Path,
    tool: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With recipients set up, the secrets are only ever written encrypted, and read back."""
    monkeypatch.setenv("PATH", f"{tool('sops').parent}:{os.environ['PATH']}")
    for name in ("SOPS_AGE_KEY", "SOPS_AGE_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)
    assert talops("secrets", "init", "--no-hook", "-C", dev).code == 0
    assert talops("talos", "gen-secrets", "-C", dev).code == 0
    path = dev / "talos" / "talsecret.sops.yaml"
    assert mode(path) == 0o600
    assert "ENC[AES256_GCM" in path.read_text(encoding="utf-8")
    assert "LS0tLS1CRUdJTi" not in path.read_text(encoding="utf-8")
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    decrypted = subprocess.run(
        [tool("sops"), "decrypt", path],
        env={"SOPS_AGE_KEY_FILE": str(dev / "age.key"), "HOME": str(dev)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert bundles.from_yaml(decrypted, where="x").contract is Contract.V1_14
    assert talops("talos", "gen-config", "-C", dev).code == 0
    assert talops("talos", "gen-secrets", "-C", dev).code == 1
