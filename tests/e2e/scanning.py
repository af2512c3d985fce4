"""Secrets that got out: in files, records, arguments or environments of whatever a run started.

What may hold one, by design: the few files that are made for it, private to their owner (age key,
kubeconfig, machine configs); the environment of tofu and of the provider that it starts, which take
credentials in no other way. Everything else is a leak: any other file, private or not, whatever is
printed, every argument, every other environment.
"""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tests.leftovers import leftovers

from talops.machineconfig.places import CONFIGS
from talops.machineconfig.secrets import bundle as bundles
from talops.secrets.age import load_keys
from talops.secrets.sops import Sops
from talops.secrets.vault import Vault
from talops.site.secrets_file import find_secrets

if TYPE_CHECKING:
    from types import TracebackType

    from tests.e2e.conftest import Lab
    from tests.leftovers import Leftover

MARK = "E2E_MARK"
SECONDS = 0.05
# A child has its parent's arguments until it has become what it will be.
LOOKS = 4
# Of what is kept encrypted, these may be seen by every user.
NO_SECRETS = ("_id", "_username")
TOFU = {"tofu", "terraform"}
# Of what /proc/<pid>/stat says after the name.
PARENT, STARTED = 1, 19
# A number is used again once its process has ended; together with its start it is unique.
Identity = tuple[int, bytes]


@dataclass
class Process:
    """What was seen of one program."""

    name: str
    parent: str
    of_tofu: bool
    arguments: set[bytes] = field(default_factory=set)
    environments: set[bytes] = field(default_factory=set)


class Watcher(threading.Thread):
    """Looks at all that carry the mark, also if their parent has ended, and at their children."""

    def __init__(self, mark: str) -> None:
        super().__init__(name="watcher", daemon=True)
        self._mark = f"{MARK}={mark}".encode()
        self._ended = threading.Event()
        self._looks: dict[Identity, int] = {}
        self.seen: dict[Identity, Process] = {}

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self.join()

    def run(self) -> None:
        while not self._ended.wait(SECONDS):
            for entry in Path("/proc").iterdir():
                if entry.name.isdigit():
                    with contextlib.suppress(OSError, IndexError):  # it ended meanwhile
                        self._look(int(entry.name))

    def _look(self, pid: int) -> Process | None:
        """What is known of it; its parent is looked at first, whatever their numbers are."""
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        identity = (pid, fields[STARTED])
        looks = self._looks.get(identity, 0)
        if looks >= LOOKS:
            return self.seen.get(identity)
        self._looks[identity] = looks + 1
        above = self._parent(int(fields[PARENT]))
        environment = Path(f"/proc/{pid}/environ").read_bytes()
        if above is None and self._mark not in environment.split(b"\0"):
            return None
        arguments = Path(f"/proc/{pid}/cmdline").read_bytes()
        name = Path(f"/proc/{pid}/exe").readlink().name
        plugin = name.startswith("terraform-provider-")
        of_tofu = name in TOFU or plugin or bool(above and above.of_tofu)
        born_of = above.name if above else "?"
        process = self.seen.setdefault(identity, Process(name, born_of, of_tofu))
        process.name, process.of_tofu = name, process.of_tofu or of_tofu
        process.arguments.add(arguments)
        process.environments.add(environment)
        return process

    def _parent(self, pid: int) -> Process | None:
        try:
            return self._look(pid)
        except OSError:  # it has ended, or is the kernel
            return None

    def leaks(self, secrets: list[str]) -> list[str]:
        return [
            f"{place} of {process.name}, child of {process.parent}: {sorted(process.arguments)}"
            for process in self.seen.values()
            for place, texts in (
                ("argument", process.arguments),
                ("environment", set() if process.of_tofu else process.environments),
            )
            if any(secret.encode() in text for secret in secrets for text in texts)
        ]


def leaks(lab: Lab, secrets: list[str]) -> list[str]:
    """Files of the site and temporary ones, and all that was printed."""
    found = ["what was printed"] if _holds("".join(lab.said).encode(), secrets) else []
    found += [
        str(file.path)
        for file in leftovers(lab.root, lab.temporary)
        if _holds(file.content, secrets) and not _made_for_it(lab, file)
    ]
    return found


def _holds(content: bytes, secrets: list[str]) -> bool:
    return any(secret.encode() in content for secret in secrets)


def _made_for_it(lab: Lab, file: Leftover) -> bool:
    """The age key, the kubeconfig, and machine configs beside their talosconfig."""
    if file.mode & 0o077:
        return False
    by_name = {lab.root / "age.key", lab.root / "kubeconfig"}
    return file.path in by_name or file.path.parent == lab.root / CONFIGS


async def known_secrets(lab: Lab, sops: Path) -> list[str]:
    """Whatever is kept encrypted, the age key, the cluster's own keys and tokens by now."""
    found = [str(lab.details["proxmox"]["api_token"]).partition("=")[2]]
    found.append(str(lab.details["truenas"]["api_key"]))
    keys = load_keys(lab.root / "age.key")
    if keys:
        found += [key.identity.reveal() for key in keys.keys]
        program = Sops(sops, lab.root, keys)
        kept = await Vault.of(program).read()
        found += [kept[name].reveal() for name in kept if not name.endswith(NO_SECRETS)]
        stored = find_secrets(lab.root)
        if stored:
            text = await program.decrypt(stored.path)
            found += [secret.reveal() for secret in bundles.from_yaml(text, where="").secrets()]
    return [secret for secret in found if len(secret) > 8]
