"""What stays on a machine's disks: the installation, the config, etcd's data."""

from __future__ import annotations

import dataclasses
import json
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from talops.files import PRIVATE, make_private_directory, write_atomic

if TYPE_CHECKING:
    from pathlib import Path

    from talops.lab.talos.machine.settings import LabSettings


@dataclass(frozen=True)
class Installation:
    """`version` is empty while nothing was installed; `staged` is an installer to run at the next
    boot; `previous` is the system that a rollback boots; `blank` means that a reset has wiped even
    the image that the disk came with.
    """

    version: str = ""
    blank: bool = False
    schematic: str = ""
    disk: str = ""
    previous: str = ""
    previous_schematic: str = ""
    staged: str = ""
    trial: bool = False  # the new system has not booted yet
    meta: dict[str, str] = field(default_factory=dict)


def machine_directory(settings: LabSettings, uuid: str) -> Path:
    return settings.directory / "machines" / uuid


class MachineStore:
    """One directory per machine uuid."""

    def __init__(self, directory: Path) -> None:
        self.directory = make_private_directory(directory)
        self._state = directory / "installation.json"
        self._config = directory / "config.yaml"
        self._images = directory / "images.json"
        self._joined = directory / "joined"

    @property
    def etcd(self) -> Path:
        return self.directory / "etcd"

    @property
    def kubernetes(self) -> Path:
        return self.directory / "kubernetes"

    @property
    def recovery(self) -> Path:
        return self.directory / "etcd.snapshot"

    def installation(self) -> Installation:
        try:
            return Installation(**json.loads(self._state.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return Installation()

    def save(self, installation: Installation) -> None:
        write_atomic(self._state, json.dumps(dataclasses.asdict(installation)), mode=PRIVATE)

    def config(self) -> bytes | None:
        try:
            return self._config.read_bytes()
        except FileNotFoundError:
            return None

    def save_config(self, raw: bytes) -> None:
        write_atomic(self._config, raw, mode=PRIVATE)

    def pulled(self) -> dict[str, int]:
        """Images that clients pulled to it, and the namespace of each."""
        try:
            return dict(json.loads(self._images.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return {}

    def save_pulled(self, reference: str, namespace: int) -> None:
        images = {**self.pulled(), reference: namespace}
        write_atomic(self._images, json.dumps(images), mode=PRIVATE)

    @property
    def joined(self) -> bool:
        """Whether its kubelet ever got a client certificate."""
        return self._joined.exists()

    def save_joined(self) -> None:
        write_atomic(self._joined, "", mode=PRIVATE)

    def wipe_state(self) -> None:
        self._config.unlink(missing_ok=True)

    def wipe_etcd(self) -> None:
        shutil.rmtree(self.etcd, ignore_errors=True)

    def wipe_ephemeral(self) -> None:
        self.wipe_etcd()
        shutil.rmtree(self.kubernetes, ignore_errors=True)
        self.recovery.unlink(missing_ok=True)
        self._images.unlink(missing_ok=True)
        self._joined.unlink(missing_ok=True)

    def wipe_disk(self) -> None:
        self.wipe_state()
        self.wipe_ephemeral()
        self.save(Installation(blank=True))

    def destroy(self) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)
