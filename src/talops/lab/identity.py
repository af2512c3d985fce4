"""The persistent identity of a lab: its network, its secrets, its spec."""

from __future__ import annotations

import json
import secrets
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.files import PRIVATE, write_atomic
from talops.lab.proxmox.seed import Credentials
from talops.lab.spec import LabSpec

if TYPE_CHECKING:
    from talops.lab.layout import Layout


@dataclass(frozen=True)
class Identity:
    network: int | None
    control_token: str
    credentials: Credentials
    spec: LabSpec

    def save(self, layout: Layout) -> None:
        body = {
            "network": self.network,
            "control_token": self.control_token,
            "password": self.credentials.password,
            "token": self.credentials.token,
            "spec": self.spec.model_dump(mode="json", by_alias=True),
        }
        write_atomic(layout.identity, json.dumps(body, indent=2) + "\n", mode=PRIVATE)


def new(spec: LabSpec) -> Identity:
    credentials = Credentials(secrets.token_urlsafe(12), str(uuid.uuid4()))
    return Identity(None, secrets.token_urlsafe(24), credentials, spec)


def load(layout: Layout) -> Identity | None:
    try:
        body: dict[str, Any] = json.loads(layout.identity.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise TalopsError(
            f"cannot read the lab's identity: {error}",
            where=str(layout.identity),
            hint="start a lab in another directory, or remove this one",
        ) from error
    return Identity(
        body["network"],
        body["control_token"],
        Credentials(body["password"], body["token"]),
        LabSpec.model_validate(body["spec"]),
    )
