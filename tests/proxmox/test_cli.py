"""`talops host` and `talops template` as they are typed, on a lab that runs beside."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from talops.cli.app import run
from talops.lab.sample import CA_FILE, LabInventory
from talops.lab.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@dataclass(frozen=True)
class Site:
    root: Path
    details: dict[str, Any]
    capture: pytest.CaptureFixture[str]

    def talops(self, *words: str) -> tuple[int, str, str]:
        self.capture.readouterr()
        code = run(["-C", str(self.root), *words])
        out, err = self.capture.readouterr()
        return code, out, err

    def change(self, old: str, new: str) -> None:
        file = self.root / "cluster.yaml"
        file.write_text(file.read_text().replace(old, new))


@contextmanager
def beside(directory: Path) -> Iterator[dict[str, Any]]:
    """Commands have a loop of their own, so the lab lives in another thread."""
    started: threading.Event = threading.Event()
    found: dict[str, Any] = {}

    async def live() -> None:
        async with World(directory) as world:
            found.update(world.endpoints())
            found["stop"] = (asyncio.get_running_loop(), world.stopping)
            started.set()
            await world.stopping.wait()

    thread = threading.Thread(target=asyncio.run, args=[live()])
    thread.start()
    assert started.wait(60)
    loop, stopping = found.pop("stop")
    try:
        yield found
    finally:
        loop.call_soon_threadsafe(stopping.set)
        thread.join()


@pytest.fixture
def site(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Site]:
    with beside(tmp_path / "lab") as details:
        root = tmp_path / "site"
        root.mkdir()
        wanted = LabInventory("demo", 1, 1, gpu_workers=0, subnet=16)
        for name, text in wanted.files(details).items():
            (root / name).write_text(text)
        monkeypatch.setenv("PROXMOX_VE_API_TOKEN", details["proxmox"]["api_token"])
        yield Site(root, details, capsys)


def test_a_host_that_is_fit_is_said_to_be(site: Site) -> None:
    """Nothing on stdout, one line on stderr, exit 0."""
    code, out, err = site.talops("host", "check")
    assert (code, out) == (0, "")
    assert err.startswith("ok: Proxmox VE 9.2.11 at https://")


def test_findings_exit_four_with_their_fix(site: Site) -> None:
    """As text to read and as JSON to process."""
    site.change("cores: 2", "cores: 64")
    code, out, err = site.talops("host", "check")
    assert code == 4
    first, fix, *_ = out.splitlines()
    assert first.startswith("error: demo-cp-1 needs 64 cores, and pve has 32")
    assert fix == "  fix: set vm_cores to 32 or less"
    assert err == "2 failed, 0 to review\n"
    code, out, _ = site.talops("host", "check", "-o", "json")
    answer = json.loads(out)
    assert (code, answer["ok"], answer["proxmox"]) == (4, False, "9.2.11")
    assert {each["rule"] for each in answer["findings"]} == {"cores"}


def test_a_password_may_be_used_instead(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes from the environment; a wrong one is a finding and is not shown."""
    monkeypatch.setenv("PROXMOX_VE_PASSWORD", site.details["proxmox"]["password"])
    code, _, err = site.talops("host", "check", "--user", "root@pam")
    assert code == 0
    assert " as root@pam" in err
    monkeypatch.setenv("PROXMOX_VE_PASSWORD", "not-the-password")
    code, out, err = site.talops("host", "check", "--user", "root@pam")
    assert code == 4
    assert "not-the-password" not in out + err


def test_bare_metal_has_no_host(site: Site) -> None:
    """Reported before the user is asked for credentials."""
    site.change("proxmox_node:", "#")
    site.change("proxmox_api_url:", "#")
    site.change("proxmox_ca_file:", "#")
    code, _, err = site.talops("host", "check")
    assert code in {1, 3}
    assert "proxmox" in err.lower()


def test_print_needs_no_host(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines are the inventory's alone."""
    monkeypatch.delenv("PROXMOX_VE_API_TOKEN")
    code, out, err = site.talops("host", "prepare", "--print")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert "pveum acl modify /vms --users talops@pve --roles TalopsVMs --propagate 1" in lines
    assert any(line.startswith("pveum user token add talops@pve talops") for line in lines)


def test_a_dry_run_changes_nothing(site: Site) -> None:
    """Exit 2 as long as something is missing."""
    for _ in range(2):
        code, out, _ = site.talops("host", "prepare", "--dry-run")
        assert code == 2
        assert out.splitlines()[0] == "would create role TalopsVMs"


@pytest.mark.slow
def test_no_token_is_made_that_cannot_be_kept(site: Site, tool: Callable[[str], Path]) -> None:
    """Without an age key the value would be lost: nothing is done at all."""
    tool("sops")
    code, _, err = site.talops("host", "prepare")
    assert code == 1
    assert "cannot be stored" in err
    assert "talops secrets init" in err
    assert site.talops("host", "prepare", "--dry-run")[0] == 2


@pytest.mark.slow
def test_prepare_stores_the_token_encrypted(
    site: Site, tool: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is encrypted, printed nowhere, and what every later command uses."""
    tool("sops")
    assert site.talops("secrets", "init")[0] == 0
    code, out, err = site.talops("host", "prepare")
    assert code == 0, err
    assert "done: create token talops@pve!talops" in out
    monkeypatch.delenv("PROXMOX_VE_API_TOKEN")
    value = site.talops("secrets", "get", "proxmox_api_token_secret")[1].strip()
    assert len(value) == 36
    assert value not in out + err
    kept = [path for path in site.root.rglob("*") if path.is_file()]
    assert not [path for path in kept if value.encode() in path.read_bytes()]
    code, _, err = site.talops("host", "check")
    assert code == 0, err
    assert "as talops@pve!talops" in err


@pytest.mark.slow
def test_prepare_makes_tokens_for_the_cluster(site: Site, tool: Callable[[str], Path]) -> None:
    """Three users, three tokens, each value in the encrypted file; the check asks all of them."""
    tool("sops")
    site.change("proxmox_node:", "addons: {proxmox_csi: true, proxmox_ccm: true}\nproxmox_node:")
    site.talops("secrets", "init")
    code, out, err = site.talops("host", "check")
    assert code == 0, err
    assert out.count("has no token of its own") == 2
    code, out, err = site.talops("host", "prepare")
    assert code == 0, err
    for name in ("talops@pve!talops", "demo-csi@pve!csi", "demo-ccm@pve!ccm"):
        assert f"done: create token {name}" in out
    for key in ("csi", "ccm"):
        assert len(site.talops("secrets", "get", f"proxmox_{key}_token_secret")[1].strip()) == 36
    assert site.talops("host", "prepare")[:2] == (0, "")
    code, out, err = site.talops("host", "check")
    assert code == 0, err
    (warning,) = [line for line in out.splitlines() if line.startswith("warning: ")]
    assert "the nodes are in no pool" in warning


@pytest.mark.slow
def test_prepare_again_and_with_a_new_token(site: Site, tool: Callable[[str], Path]) -> None:
    """A second run finds all done; --new-token replaces the value, and shows it if asked."""
    tool("sops")
    site.talops("secrets", "init")
    assert site.talops("host", "prepare")[0] == 0
    code, out, err = site.talops("host", "prepare")
    assert (code, out) == (0, "")
    assert "nothing was missing" in err
    before = site.talops("secrets", "get", "proxmox_api_token_secret")[1].strip()
    code, out, _ = site.talops("host", "prepare", "--new-token", "--show-token")
    after = site.talops("secrets", "get", "proxmox_api_token_secret")[1].strip()
    assert code == 0
    assert after != before
    assert f"talops@pve!talops={after}" in out


def test_templates_from_the_command_line(site: Site) -> None:
    """Built, found, listed, removed; each line of the output is compared."""
    site.change("proxmox_node:", "boot: template\ntemplate_vm_id: 9000\nproxmox_node:")
    code, out, _ = site.talops("host", "check")
    assert code == 4
    assert "there is no template talos-v1.14.1-base (VM 9000)" in out
    row = "pve\t9000\ttalos-v1.14.1-base\tTalos v1.14.1 376567988ad3\n"
    for _ in range(2):
        assert site.talops("template", "build")[:2] == (0, row)
    assert site.talops("host", "check")[0] == 0
    listed = json.loads(site.talops("template", "list", "-o", "json")[1])["templates"]
    assert [(each["vm_id"], each["ours"], each["linked_clones"]) for each in listed] == [
        (9000, True, [])
    ]
    code, out, _ = site.talops("template", "remove", "talos-v1.14.1-base")
    assert (code, out) == (0, "removed talos-v1.14.1-base (VM 9000) from pve\n")
    code, out, err = site.talops("template", "list")
    assert (code, out) == (0, "")
    assert "VM.Audit" in err
    code, _, err = site.talops("template", "remove", "9000")
    assert code == 1
    assert "existing templates: none" in err


def test_init_proposes_what_the_host_has(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """`host check` then finds nothing; without credentials, or with a foreign CA, nothing is
    written.
    """
    new = site.root / "new"
    new.mkdir()
    (new / "pve-ca.pem").write_text((site.root / CA_FILE).read_text())
    url = site.details["proxmox"]["hosts"][0]["endpoint"]
    words = ["-C", str(new), "init", "--from-proxmox", url, "--ca-file"]
    code, _, err = site.talops(*words, str(site.root / CA_FILE))
    assert (code, "copy it there" in err) == (1, True)
    words += ["pve-ca.pem", "--name", "home"]
    with monkeypatch.context() as without:
        without.delenv("PROXMOX_VE_API_TOKEN")
        code, _, err = site.talops(*words)
        assert (code, "add --user root@pam" in err) == (1, True)
    assert [file.name for file in new.iterdir()] == ["pve-ca.pem"]
    code, _, err = site.talops(*words)
    assert code == 0, err
    assert "not used by a guest" in err
    assert site.talops("-C", str(new), "check")[0] == 0
    code, out, err = site.talops("-C", str(new), "host", "check")
    assert (code, out) == (0, ""), err
    assert "proxmox_disk_storage: local-lvm   # lvmthin" in (new / "cluster.yaml").read_text()
