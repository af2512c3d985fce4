"""Names that Proxmox accepts, checked before anything is created: Proxmox checks them last."""

from __future__ import annotations

import re

from talops.errors import TalopsError

# As pve-access-control 9.1 has them (PVE/Auth/Plugin.pm): a token is named like a realm.
REALM = r"[A-Za-z][A-Za-z0-9._-]+"
_TOKEN = re.compile(REALM)
_USER = re.compile(rf"[^\s:/!@]+@{REALM}")
LONGEST = 64


def check_user(name: str) -> None:
    if not _USER.fullmatch(name) or len(name) > LONGEST:
        raise TalopsError(
            f"{name!r} is not the name of a Proxmox user",
            hint=f"write it like talops@pve: name@realm, without ':' and '/', at most {LONGEST}",
        )


def check_token(name: str) -> None:
    if not _TOKEN.fullmatch(name):
        raise TalopsError(
            f"{name!r} is not the name of a Proxmox token",
            hint="use at least two of A-Z, a-z, 0-9, '.', '-' and '_', starting with a letter",
        )
