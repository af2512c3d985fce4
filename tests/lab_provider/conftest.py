"""A workspace for OpenTofu, the stand-in in a mirror, and a Proxmox in memory to work on."""

from __future__ import annotations

import asyncio
import datetime as dt
import ipaddress
import json
import os
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.lab_provider.configurations import VM
from tests.lab_provider.fake_server import TOKEN, running

from talops.lab.provider import mirror as mirrors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.lab_provider.fake import Fake

REAL_MIRROR = "TALOPS_PROVIDER_MIRROR"
LONGEST = 80
VERSION = "0.111.1"
HEADER = f"""\
terraform {{
  required_providers {{
    proxmox = {{
      source  = "bpg/proxmox"
      version = "{VERSION}"
    }}
  }}
}}
"""


@dataclass(frozen=True)
class Result:
    code: int
    out: str


@dataclass(frozen=True)
class Workspace:
    """A directory with one configuration, and OpenTofu to run in it."""

    tofu: str
    directory: Path
    mirror: Path
    endpoint: str
    ca: Path
    login: tuple[tuple[str, str], ...] = (("PROXMOX_VE_API_TOKEN", TOKEN),)

    def write(self, body: str) -> None:
        provider = f'provider "proxmox" {{\n  endpoint = "{self.endpoint}"\n}}\n'
        (self.directory / "main.tf").write_text(HEADER + provider + body)
        (self.directory / "cli.tfrc").write_text(mirrors.cli_config(self.mirror))

    def run(self, *arguments: str) -> Result:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.directory),
            "TF_CLI_CONFIG_FILE": str(self.directory / "cli.tfrc"),
            "TF_IN_AUTOMATION": "1",
            **dict(self.login),
            "SSL_CERT_FILE": str(self.ca),
            "CHECKPOINT_DISABLE": "1",
            # Its own, so that tests do not meet in /tmp; the path of a plugin's socket is short.
            "TMPDIR": str(self.directory) if len(str(self.directory)) < LONGEST else "/tmp",
        }
        done = subprocess.run(
            [self.tofu, *arguments],
            cwd=self.directory,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=280,
        )
        return Result(done.returncode, done.stdout + done.stderr)

    def ok(self, *arguments: str) -> str:
        result = self.run(*arguments)
        assert result.code == 0, result.out
        return result.out

    def init(self) -> str:
        return self.ok("init", "-no-color", "-input=false")

    def apply(self, body: str | None = None) -> str:
        if body is not None:
            self.write(body)
        return self.ok("apply", "-auto-approve", "-no-color", "-input=false")

    def destroy(self) -> str:
        return self.ok("destroy", "-auto-approve", "-no-color", "-input=false")

    def plan(self, body: str | None = None) -> dict[str, Any]:
        """Address → actions of every change, and what changes."""
        if body is not None:
            self.write(body)
        self.ok("plan", "-out=plan.bin", "-no-color", "-input=false")
        shown = json.loads(self.ok("show", "-json", "plan.bin"))
        found = {}
        for change in shown.get("resource_changes", []):
            actions = change["change"]["actions"]
            if actions != ["no-op"]:
                found[change["address"]] = {
                    "actions": actions,
                    "replace": change["change"].get("replace_paths", []),
                    "attributes": _differences(change["change"]),
                }
        return found

    def state(self) -> dict[str, Any]:
        shown = json.loads(self.ok("show", "-json"))
        resources = shown.get("values", {}).get("root_module", {}).get("resources", [])
        return {item["address"]: item["values"] for item in resources}


@dataclass(frozen=True)
class Prepared:
    workspace: Workspace
    world: dict[str, Any]


def _differences(change: dict[str, Any]) -> list[str]:
    before, after = change["before"] or {}, change["after"] or {}
    unknown = change.get("after_unknown") or {}
    return sorted(
        key
        for key in {*before, *after}
        if before.get(key) != after.get(key) and not (key in unknown and unknown[key] is True)
    )


@pytest.fixture(scope="session")
def tofu_program(tool: Callable[[str], Path]) -> str:
    return str(tool("tofu"))


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Key and certificate of the Proxmox in memory; its own CA."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "pve")])
    now = dt.datetime.now(dt.UTC)
    local = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(local, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("pki") / "pve.pem"
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(secret + built.public_bytes(serialization.Encoding.PEM))
    path.with_name("ca.pem").write_bytes(built.public_bytes(serialization.Encoding.PEM))
    return path


# Every expectation holds for the real provider too, wherever there is one to ask.
PROVIDERS = ["stand-in", *(["real"] if REAL_MIRROR in os.environ else [])]


@pytest.fixture(scope="session", params=PROVIDERS)
def mirror(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where OpenTofu finds the provider under test."""
    cache = tmp_path_factory.mktemp("mirror")
    given = Path(os.environ[REAL_MIRROR]) if request.param == "real" else None
    return asyncio.run(mirrors.choose(cache, VERSION, given=given)).directory


@pytest.fixture
def fake(certificate: Path) -> Iterator[Fake]:
    with running(certificate) as server:
        yield server


@pytest.fixture(scope="session")
def prepared(
    mirror: Path,
    tofu_program: str,
    certificate: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Prepared:
    """A directory after `init` and one after `apply` of the usual VM, to start tests from."""
    directory = tmp_path_factory.mktemp("prepared")
    with running(certificate) as server:
        workspace = Workspace(
            tofu_program, directory, mirror, server.url, certificate.with_name("ca.pem")
        )
        workspace.write(VM)
        workspace.init()
        workspace.apply()
        return Prepared(workspace, server.snapshot())


@pytest.fixture
def workspace(prepared: Prepared, fake: Fake, tmp_path: Path) -> Workspace:
    """Ready for `plan` and `apply`; nothing is there yet."""
    directory = tmp_path / "work"
    shutil.copytree(
        prepared.workspace.directory,
        directory,
        symlinks=True,
        ignore=shutil.ignore_patterns("terraform.tfstate*", "plan.bin"),
    )
    return replace(prepared.workspace, directory=directory, endpoint=fake.url)


@pytest.fixture
def with_vm(prepared: Prepared, workspace: Workspace, fake: Fake) -> Workspace:
    """As `workspace`, with the usual VM in state and in Proxmox."""
    state = "terraform.tfstate"
    shutil.copy(prepared.workspace.directory / state, workspace.directory / state)
    fake.restore(prepared.world)
    workspace.write(VM)
    return workspace
