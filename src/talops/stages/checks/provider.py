"""The provider can be had from where the environment says: an offline mirror that holds none is
found out before the first `init`.
"""

from __future__ import annotations

import platform
from pathlib import Path
from typing import TYPE_CHECKING

from talops.pipeline.checks import failed, passed, skipped
from talops.render.tree import PROVIDER_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.pipeline.checks import Finding

MIRROR, SETTINGS = "TALOPS_PROVIDER_MIRROR", "TF_CLI_CONFIG_FILE"
HOSTS = ("registry.opentofu.org", "registry.terraform.io")
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


async def look(environment: Mapping[str, str]) -> list[Finding]:
    return [*_settings(environment), *_mirror(environment)] or [
        skipped("no mirror is named: the provider comes from its registry")
    ]


def _settings(environment: Mapping[str, str]) -> list[Finding]:
    given = environment.get(SETTINGS)
    if not given:
        return []
    if Path(given).is_file():
        return [passed(f"{SETTINGS} can be read", given)]
    hint = f'correct or unset {SETTINGS}; for the lab: eval "$(talops lab env)"'
    return [failed(f"{SETTINGS} names no file", given, hint)]


def _mirror(environment: Mapping[str, str]) -> list[Finding]:
    given = environment.get(MIRROR)
    if not given:
        return []
    if not Path(given).is_dir():
        return [failed(f"{MIRROR} names no directory", given, f"correct or unset {MIRROR}")]
    system = f"linux_{_ARCHITECTURES.get(platform.machine(), platform.machine())}"
    for host in HOSTS:
        folder = Path(given) / host / "bpg" / "proxmox"
        packed = folder / f"terraform-provider-proxmox_{PROVIDER_VERSION}_{system}.zip"
        if packed.is_file() or (folder / PROVIDER_VERSION / system).is_dir():
            return [passed(f"holds bpg/proxmox {PROVIDER_VERSION}", given)]
    hint = "fill it: tofu providers mirror DIR, in a layer; or unset the variable"
    return [failed(f"the mirror does not hold bpg/proxmox {PROVIDER_VERSION}", given, hint)]
