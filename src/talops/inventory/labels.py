"""Kubernetes' own rules for labels."""

from __future__ import annotations

import re

_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
# A kubelet may not give itself labels below these, so the node would never join with them.
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
        return f"{value!r} is not a label value", "letters, digits, '-', '_', '.', at most 63"
    if prefix == "node-role.kubernetes.io":
        return (
            f"a node may not give itself the label {key}",
            "the role comes from `controller`; for workers label the node after it joined",
        )
    if prefix and _PROTECTED.search(prefix) and not _ALLOWED.search(prefix):
        return f"a node may not give itself the label {key}", "use a prefix of your own"
    return None
