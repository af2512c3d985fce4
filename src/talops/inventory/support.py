"""Supported Kubernetes versions per Talos version, and the minimum requirements of Talos."""

from __future__ import annotations

from talops.inventory.fields import VERSION

# Talos minor → (oldest, newest) Kubernetes minor of major 1.
KUBERNETES: dict[int, tuple[int, int]] = {
    8: (26, 31),
    9: (27, 32),
    10: (28, 33),
    11: (29, 34),
    12: (30, 35),
    13: (31, 36),
    14: (32, 37),
}
# Talos minor → the oldest Kubernetes minor of its support matrix, if its code accepts older ones.
OLDEST_TESTED = {14: 33}
# Releases that no cluster should run, and why.
WITHDRAWN = {
    "v1.13.1": "the Talos project has withdrawn it",
    "v1.13.3": "it panics on integers in scheduler.config, so no API server starts",
}
# The newest release of each Talos minor that talops knows: https://factory.talos.dev/versions.
NEWEST_RELEASE = {
    8: "v1.8.4",
    9: "v1.9.6",
    10: "v1.10.9",
    11: "v1.11.6",
    12: "v1.12.11",
    13: "v1.13.9",
    14: "v1.14.1",
}
# A release of each Kubernetes minor that an upgrade may pass through, as its page lists them:
# https://kubernetes.io/releases/1.37/ and so on. There may be newer ones.
NEWEST_KUBERNETES = {
    26: "v1.26.15",
    27: "v1.27.16",
    28: "v1.28.15",
    29: "v1.29.15",
    30: "v1.30.14",
    31: "v1.31.14",
    32: "v1.32.10",
    33: "v1.33.10",
    34: "v1.34.9",
    35: "v1.35.9",
    36: "v1.36.4",
    37: "v1.37.1",
}
# When the projects end their support, by minor; of a Talos before those, it has ended. Talos ends
# it with the next minor: "End of Community Support" in the support matrix of its documentation
# (talos/v1.14/getting-started/support-matrix). Kubernetes: "End Of Life Date" of the same pages.
END_OF_SUPPORT_TALOS = {13: "2026-09-03", 14: "2026-12-27"}
END_OF_SUPPORT_KUBERNETES = {
    30: "2025-07-15",
    31: "2025-11-11",
    32: "2026-02-28",
    33: "2026-06-28",
    34: "2026-10-27",
    35: "2027-02-28",
    36: "2027-06-28",
    37: "2027-10-28",
}
# The versions that `talops init` writes.
NEW_CLUSTER_TALOS, NEW_CLUSTER_KUBERNETES = NEWEST_RELEASE[14], "v1.36.3"
# The first Talos version with the network documents that talops writes.
OLDEST_CONFIGURABLE = 12
CONTRACTS = ("v1.12", "v1.13", "v1.14")
_FIRST_WITH_CDI = 13

MIN_DISK_GIB = 10
MIN_MEMORY_MIB = {"controlplane": 2048, "worker": 1024}


def parts(version: str) -> tuple[int, int, int]:
    found = VERSION.fullmatch(version)
    if not found:
        raise ValueError(version)
    return int(found[1]), int(found[2]), int(found[3])


def minor(version: str) -> int:
    return parts(version)[1]


def default_contract(talos_version: str) -> str:
    """The newest contract that the version supports."""
    readable = [c for c in CONTRACTS if minor(f"{c}.0") <= minor(talos_version)]
    return readable[-1] if readable else CONTRACTS[0]


def knows_cdi(talos_version: str) -> bool:
    """Talos passes GPUs to pods by CDI, without the RuntimeClass of NVIDIA."""
    return minor(talos_version) >= _FIRST_WITH_CDI
