"""The config contract: the Talos version that a cluster's configs are written for."""

from __future__ import annotations

import re
from enum import StrEnum

from talops.errors import TalopsError


def numbers_of(talos_version: str) -> tuple[int, int]:
    """Major and minor of a version like v1.14.1 or 1.13."""
    match = re.match(r"v?([0-9]{1,5})\.([0-9]{1,5})", talos_version)
    if not match:
        raise TalopsError(f"{talos_version!r} is not a Talos version", hint="write it like v1.14.1")
    return int(match[1]), int(match[2])


class Contract(StrEnum):
    """Set when a cluster is created; an upgrade of Talos never changes it."""

    V1_12 = "1.12"
    V1_13 = "1.13"
    V1_14 = "1.14"

    @classmethod
    def for_version(cls, talos_version: str) -> Contract:
        """The newest contract that this Talos version supports."""
        version = numbers_of(talos_version)
        known = [c for c in cls if c.numbers <= version]
        if not known:
            raise TalopsError(
                f"talops supports machine configs for Talos {cls.V1_12} and newer,"
                f" not for {talos_version}",
                hint="upgrade the cluster to Talos 1.12 first",
            )
        return known[-1]

    @property
    def numbers(self) -> tuple[int, int]:
        return numbers_of(self.value)

    @property
    def has_empty_machine_network(self) -> bool:
        return self is Contract.V1_12

    @property
    def splits_documents(self) -> bool:
        """Whether Kubernetes, the installation and more have separate documents."""
        return self.numbers >= self.V1_14.numbers


# The newest contract from before secrets files recorded the contract.
NEWEST_UNPINNED = Contract.V1_13
