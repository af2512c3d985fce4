"""The rules of Kubernetes for labels."""

from __future__ import annotations

import re

_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
# A kubelet must not set labels with these prefixes on its node; the node would never join.
_PROTECTED = re.compile(r"(^|\.)(kubernetes|k8s)\.io$")
_ALLOWED = re.compile(
    r"(^|\.)(node\.kubernetes\.io|kubelet\.kubernetes\.io|topology\.kubernetes\.io)$"
)


def label_problem(key: str, value: str) -> tuple[str, str] | None:
    """What is wrong with a label, and what to write instead."""
    prefix, _, name = key.rpartition("/")
    if not _NAME.fullmatch(name) or (prefix and not _PREFIX.fullmatch(prefix)):
        return f"{key!r} is not a label key", "write it like example.com/zone"
    if value and not _NAME.fullmatch(value):
        return (
            f"{value!r} is not a label value",
            "use at most 63 of a-z, A-Z, 0-9, '-', '_' and '.'",
        )
    if prefix == "node-role.kubernetes.io":
        return (
            f"a node cannot set the label {key} on itself",
            "`controller` sets the role; label workers with kubectl after they join",
        )
    if prefix and _PROTECTED.search(prefix) and not _ALLOWED.search(prefix):
        return f"a node cannot set the label {key} on itself", "use your own prefix"
    return None
