"""OpenTofu and its providers get the variables that they need (row 15)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from talops.environment import MORE, for_engine, without_keys
from talops.layer import Layer
from talops.site.layer_access import layer_engine
from talops.toolchain.process import run

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "AGE-SECRET-KEY-1QQQQ"
SHOW = "#!/bin/sh\nenv >seen\necho '{}'\n"
HELD_BACK = {
    "SOPS_AGE_KEY": SECRET,
    "SOPS_AGE_KEY_FILE": "/home/me/keys.txt",
    "SOPS_AGE_KEY_CMD": "pass age",
    "GITHUB_TOKEN": "ghp_1",
    "KUBECONFIG": "/home/me/.kube/config",
    "TALOPS_YES": "1",
    "CLOUDFLARE_API_TOKEN": "cf",
}
NEEDED = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/home/me",
    "https_proxy": "http://proxy:3128",
    "NO_PROXY": "10.0.0.0/8",
    "SSL_CERT_FILE": "/ca.pem",
    "TF_LOG": "debug",
    "TF_VAR_state_encryption_passphrase": "passphrase",
    "TF_HTTP_PASSWORD": "password",
    "AWS_PROFILE": "home",
    "AWS_CA_BUNDLE": "/ca.pem",
    "PROXMOX_VE_API_TOKEN": "t",
    "SSH_AUTH_SOCK": "/run/agent",
    "LC_ALL": "C",
}


async def test_what_reaches_the_engine(tmp_path: Path) -> None:
    """Read in the process that talops starts, not from what it says."""
    program = tmp_path / "tofu"
    program.write_text(SHOW)
    program.chmod(0o755)
    layer = Layer("01-hypervisors", tmp_path)
    layer.path.mkdir(parents=True)
    engine = layer_engine(program, layer, {**NEEDED, **HELD_BACK}, lambda _: None)
    await engine.output()
    lines = (layer.path / "seen").read_text().splitlines()
    seen = dict(line.split("=", 1) for line in lines if "=" in line)
    assert NEEDED.items() <= seen.items()
    assert not HELD_BACK.keys() & seen.keys()


@pytest.mark.parametrize("named", ["CLOUDFLARE_API_TOKEN", "X_Y, CLOUDFLARE_*", "CLOUD*,SOPS_*"])
def test_variables_of_other_providers(named: str) -> None:
    """The user names them; keys stay out whatever is named."""
    found = for_engine({**NEEDED, **HELD_BACK, MORE: named})
    assert found.keys() - NEEDED.keys() == {"CLOUDFLARE_API_TOKEN"}


async def test_compilers_and_installers_get_no_key(tmp_path: Path) -> None:
    """They use many variables of the user, such as proxies of Go."""
    out = await run(["env"], env={**NEEDED, **HELD_BACK, "GOPROXY": "direct"}, cwd=tmp_path)
    assert SECRET not in out
    assert "SOPS_AGE" not in out
    assert "GOPROXY=direct" in out
    assert without_keys({"SOPS_AGE_KEY": SECRET}) == {}
