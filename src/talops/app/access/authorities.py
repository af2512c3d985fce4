"""The CAs that a cluster accepts, by the key id that certificates refer to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.machineconfig.secrets import pki
from talops.machineconfig.secrets.rotating import Rotated

if TYPE_CHECKING:
    from talops.machineconfig.secrets.bundle import Bundle


def authorities(bundle: Bundle) -> dict[str, str]:
    """Key id in hexadecimal → name."""
    pairs = {
        "talos": (bundle.os, *bundle.accepted(Rotated.TALOS_CA)),
        "kubernetes": (bundle.k8s, *bundle.accepted(Rotated.KUBERNETES_CA)),
    }
    return {
        pki.subject_id(pair.certificate).hex(): name
        for name, found in pairs.items()
        for pair in found
    }
