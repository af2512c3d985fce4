"""Faults that a test or a demo can inject into a node: by the lab's rules, or by a small file.

The rules are those of `talops lab fault` and of the lab's faults.json; the file of one machine is
`faults/<machine name or uuid>.json` in the nodes' directory, with the fields below.
"""

from __future__ import annotations

import dataclasses
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.files import write_atomic
from talops.lab.faults import CRASH, MISSING

if TYPE_CHECKING:
    from pathlib import Path

    from talops.lab.faults import Faults as Rules


@dataclass(frozen=True)
class Faults:
    """The faults of one machine; the defaults are none."""

    slow_boot: float = 0.0  # seconds added to each boot, not scaled
    crash_at: str = ""  # a phase of `failures.PHASES`; happens once, then the node reboots
    never_ready: bool = False
    wrong_disk: bool = False  # the disks appear under other names than expected
    clock_skew: float = 0.0  # seconds ahead of true time
    network_lost: bool = False
    refuse_bootstrap: bool = False
    disk_full: bool = False
    volumes_stuck: bool = False  # the CSI driver detaches nothing from it
    hangs: bool = False  # its next boot does not get past the firmware
    boot_fails: bool = False  # a newly installed system does not boot: the old one does, silently
    install_exit: int = 0  # the exit code of its next installations
    image_missing: str = ""  # a pattern: images that no registry has for it
    slow_pull: float = 0.0  # seconds without progress in each pull, not scaled
    etcd_lost: bool = False  # its etcd ends and does not start
    etcd_slow: bool = False  # its etcd pauses for half of the time
    # Its kube-apiserver ends and does not start, as with the configs of Talos issue 13445.
    apiserver_lost: bool = False


# Rule → the field above, and the key of the rule with its value (none: a boolean).
_BY_RULE = {
    "talos-slow-boot": ("slow_boot", "seconds"),
    "talos-never-ready": ("never_ready", ""),
    "talos-wrong-disk": ("wrong_disk", ""),
    "talos-clock-skew": ("clock_skew", "seconds"),
    "talos-network-lost": ("network_lost", ""),
    "talos-refuse-bootstrap": ("refuse_bootstrap", ""),
    "talos-disk-full": ("disk_full", ""),
    "talos-volumes-stuck": ("volumes_stuck", ""),
    "talos-hang": ("hangs", ""),
    "talos-boot-fails": ("boot_fails", ""),
    "talos-install-fails": ("install_exit", "exit_code"),
    "talos-image-missing": ("image_missing", "path"),
    "talos-slow-pull": ("slow_pull", "seconds"),
    "talos-etcd-lost": ("etcd_lost", ""),
    "talos-etcd-slow": ("etcd_slow", ""),
    "talos-apiserver-lost": ("apiserver_lost", ""),
}
# What a rule without the key means.
_EVERY = {MISSING: "."}
NONE = Faults()
_FRESH = 0.1


class FaultBook:
    """All faults of a lab, stored in its directory, so that another process can set them too.

    Nodes ask often, so the directory is read only every tenth of a second.
    """

    def __init__(self, directory: Path, rules: Rules | None = None) -> None:
        self._directory = directory
        self._rules = rules
        self._known: dict[str, Faults] = {}
        self._by_rules: dict[tuple[str, ...], Faults] = {}
        self._looked = 0.0

    def of(self, *names: str) -> Faults:
        """The faults of a machine by any of its names; the first known name counts."""
        if time.monotonic() - self._looked > _FRESH:
            self._read()
        found = next((self._known[name] for name in names if name in self._known), None)
        if found is not None or self._rules is None:
            return found or NONE
        if names not in self._by_rules:
            self._by_rules[names] = _ruled(self._rules, names)
        return self._by_rules[names]

    def set(self, name: str, faults: Faults) -> None:
        text = json.dumps(dataclasses.asdict(faults), indent=2)
        write_atomic(self._directory / f"{name}.json", text + "\n")
        self._read()

    def clear(self, name: str) -> None:
        (self._directory / f"{name}.json").unlink(missing_ok=True)
        self._read()

    def crashes(self, phase: str, *names: str) -> bool:
        """Whether the machine panics now; this uses up the fault."""
        own = next((name for name in names if name in self._known), None)
        if own is not None and self._known[own].crash_at == phase:
            self.set(own, dataclasses.replace(self._known[own], crash_at=""))
            return True
        return bool(self._rules and self._rules.find(CRASH, machine=names, phase=phase))

    def _read(self) -> None:
        found = sorted(self._directory.glob("[!.]*.json")) if self._directory.is_dir() else []
        self._known = {path.stem: _parse(path) for path in found}
        self._by_rules.clear()
        if self._rules is not None:
            self._rules.refresh()
        self._looked = time.monotonic()


def _ruled(rules: Rules, names: tuple[str, ...]) -> Faults:
    found: dict[str, Any] = {
        field: (getattr(rule, key) or _EVERY.get(kind, 0)) if key else True
        for kind, (field, key) in _BY_RULE.items()
        if (rule := rules.standing(kind, machine=names))
    }
    return Faults(**found) if found else NONE


def _parse(path: Path) -> Faults:
    try:
        return Faults(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:  # removed right now
        return NONE
    except (TypeError, ValueError) as error:
        names = ", ".join(field.name for field in dataclasses.fields(Faults))
        raise TalopsError(
            f"not a faults file: {error}", where=str(path), hint=f"known faults: {names}"
        ) from error
