"""A golden of the renderer with a lab to live in: the hosts, storages and images that it names."""

from __future__ import annotations

import re
import urllib.request
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

from tests.render.test_golden import CASES, GOLDEN, as_one_text, is_common, rendered
from tests.statestore.running import running
from tests.statestore.s3_server import s3
from tests.tofu.home import call, open_world, settle, token_of

from talops.inventory.load import load
from talops.lab.spec import STORAGES, DeviceSpec, HypervisorSpec, LabSpec, NodeSpec, StorageSpec
from talops.redaction import Secret
from talops.render.tree import render
from talops.statestore.stores import StoreAddress

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    import pytest
    from tests.real_provider import Programs
    from tests.tofu.home import Home

    from talops.lab.world import World

# All goldens but the one that has no VM at all.
WITH_VMS = sorted(set(CASES) - {"bare-metal"})
PUBLIC_FACTORY = "https://factory.talos.dev"
SECOND_GPU = DeviceSpec.model_validate({"id": "0000:02:00.0", "iommugroup": 15})
TANK = StorageSpec(storage="tank", type="zfspool", content="images", options={"pool": "tank"})
# Only root itself may hand a device through by its address.
AS_ROOT = {"raw-gpu"}
# Stretching a passphrase is most of the time of a run. The golden `encrypted` lives with its own;
# the one with more layers gets a key from this program (the protocol of OpenTofu's key provider
# `external`, internal/encryption/keyprovider/external of 1.12.6).
QUICK_KEY = {"encrypted-http"}
KEY = """\
#!/bin/sh
echo '{"magic":"OpenTofu-External-Key-Provider","version":1}'
key='"AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA="'
[ "$(cat)" = null ] && own= || own=",\\"decryption_key\\":$key"
echo "{\\"keys\\":{\\"encryption_key\\":$key$own},\\"meta\\":{\\"external_data\\":{}}}"
"""
# There is no AWS here: its place takes a server that has neither its names nor its accounts.
NOT_AWS = [
    f"-backend-config={name}=true"
    for name in ("use_path_style", "skip_credentials_validation", "skip_requesting_account_id")
]


@asynccontextmanager
async def at_home(
    name: str, folder: Path, programs: Programs, patch: pytest.MonkeyPatch
) -> AsyncIterator[Home]:
    """The golden's own files in a site, and a lab that has what they ask for."""
    async with open_world(folder, lab_spec(name), patch, programs) as world:
        with state_of(name, folder, world) as (url, keeper):
            login = root_login(world) if name in AS_ROOT else {}
            for variable, value in {**keeper, **login}.items():
                patch.setenv(variable, value)
            write(name, folder / "site", world.endpoints(), url)
            await furnish(name, world)
            init = NOT_AWS if name == "state-aws" else []
            known = credentials(name, world)
            async with settle(world, folder / "site", programs, patch, known, init) as home:
                yield home


def lab_spec(name: str) -> LabSpec:
    names = ("pve1", "pve2") if name == "two-hosts" else ("pve",)
    nodes = [NodeSpec(name=each) for each in names]
    more = tuple(n.model_copy(update={"devices": (*n.devices, SECOND_GPU)}) for n in nodes)
    return LabSpec(proxmox=(HypervisorSpec(name="pve", nodes=more, storages=(*STORAGES, TANK)),))


def root_login(world: World) -> dict[str, str]:
    password = world.identity.credentials.password
    return {"PROXMOX_VE_USERNAME": "root@pam", "PROXMOX_VE_PASSWORD": password}


def credentials(name: str, world: World) -> dict[str, Secret]:
    found = {} if name in AS_ROOT else token_of(world)
    if CASES[name][2]:
        found["state_encryption_passphrase"] = Secret("a passphrase that is long enough")
    return {**found, "tfstate_username": Secret("test"), "tfstate_password": Secret("test")}


def write(name: str, site: Path, details: dict[str, Any], state: str) -> None:
    """The golden, of which only the addresses of this machine's servers differ."""
    site.mkdir()
    rendered(name, site)
    path = site / "cluster.yaml"
    text = path.read_text(encoding="utf-8")
    text = text.replace("https://state.example:8443/ha", state)
    text = text.replace("proxmox_ca_file: pve-ca.pem\n", "")
    factory = details["factory"]["url"]
    path.write_text(f"{text}image_factory_url: {factory}\n", encoding="utf-8")
    files = render(load(site).require(), encrypted=CASES[name][2])
    own = {where: text for where, text in files.items() if not is_common(where)}
    golden = (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")
    assert as_one_text(own).replace(factory, PUBLIC_FACTORY) == golden
    for where, text in files.items():
        file = site / where
        file.parent.mkdir(parents=True, exist_ok=True)
        given = quick_key(text, site / "key") if name in QUICK_KEY else text
        file.write_text(given, encoding="utf-8")


def quick_key(text: str, program: Path) -> str:
    """The same encryption, with a key that is given instead of computed."""
    program.write_text(KEY, encoding="utf-8")
    program.chmod(0o700)
    own = 'key_provider "external" "passphrase" {\n      command = ["' + f'{program}"]\n    }}'
    text = re.sub(r'key_provider "pbkdf2" "passphrase" \{.*?\n    \}', own, text, flags=re.DOTALL)
    return text.replace("key_provider.pbkdf2", "key_provider.external")


@contextmanager
def state_of(name: str, folder: Path, world: World) -> Iterator[tuple[str, dict[str, str]]]:
    """Where the golden keeps its state: the address for the inventory, and for the environment."""
    kind = next(iter((GOLDEN / f"{name}.txt").read_text(encoding="utf-8").split('backend "')[1:]))
    if kind.startswith("http"):
        pem = world.authority.issue("state", ["127.0.0.1"])
        tls = ("--tls-certificate", str(pem), "--tls-key", str(pem))
        with running(StoreAddress(Secret(f"sqlite:{folder / 'states'}")), *tls) as server:
            yield f"{server.address}/ha", {}
    elif kind.startswith("s3"):
        with s3() as server:
            for bucket in ("states", "talops-states"):
                request = urllib.request.Request(f"{server.endpoint}/{bucket}", method="PUT")
                urllib.request.urlopen(request, timeout=30).close()
            yield "", {"AWS_ENDPOINT_URL_S3": server.endpoint}
    else:
        yield "", {}


async def furnish(name: str, world: World) -> None:
    """What is there before layer 01: an ISO for the legacy VM, a template to clone."""
    if name in {"ha", "encrypted-http"}:
        iso = {"filename": ("debian-13.iso", b"an installer")}
        place = "/nodes/pve/storage/local/upload"
        await call(world, "POST", place, data={"content": "iso"}, files=iso)
    if name == "template":
        vm = {"vmid": "9000", "name": "talos-v1.14.1-base", "scsi0": "local-lvm:10"}
        await call(world, "POST", "/nodes/pve/qemu", data=vm)
        await call(world, "POST", "/nodes/pve/qemu/9000/template")
