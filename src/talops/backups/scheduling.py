"""Files that make backups regular: a systemd timer, a cron line, a CI job. Pure."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import TalopsError

if TYPE_CHECKING:
    from pathlib import Path

_TIME = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")


@dataclass(frozen=True)
class Plan:
    """`program` is how talops was started; `key_file` is outside of the environment."""

    cluster: str
    root: Path
    program: str
    at: str
    key_file: Path
    remote: bool

    @property
    def hour_and_minute(self) -> tuple[int, int]:
        found = _TIME.fullmatch(self.at)
        if found is None:
            raise TalopsError(
                f"{self.at!r} is not a time of day", where="--at", hint="write it like 03:17"
            )
        return int(found[1]), int(found[2])


def systemd(plan: Plan) -> str:
    """Two units, each headed by its path."""
    hour, minute = plan.hour_and_minute
    name = f"talops-backup-{plan.cluster}"
    return f"""\
# /etc/systemd/system/{name}.service
[Unit]
Description=Back up etcd of {plan.cluster}
Requires=network-online.target
After=network-online.target

[Service]
Type=oneshot
WorkingDirectory={_without_specifiers(plan.root)}
Environment={_quoted(f"SOPS_AGE_KEY_FILE={plan.key_file}")}
ExecStart={_quoted(plan.program)} backup create
ExecStart={_quoted(plan.program)} backup prune --yes
UMask=0077
NoNewPrivileges=true
PrivateTmp=true
ProtectSystem=full

# /etc/systemd/system/{name}.timer
[Unit]
Description=Back up etcd of {plan.cluster} daily

[Timer]
OnCalendar=*-*-* {hour:02d}:{minute:02d}:00
RandomizedDelaySec=15m
Persistent=true

[Install]
WantedBy=timers.target

# Then: systemctl daemon-reload && systemctl enable --now {name}.timer
"""


def cron(plan: Plan) -> str:
    hour, minute = plan.hour_and_minute
    root, program = shlex.quote(str(plan.root)), shlex.quote(plan.program)
    key = shlex.quote(str(plan.key_file))
    work = f"{program} backup create && {program} backup prune --yes"
    line = f"cd {root} && export SOPS_AGE_KEY_FILE={key} && {work}"
    # In a crontab, an unescaped % ends the command.
    return f"{minute} {hour} * * * {line.replace('%', chr(92) + '%')}\n"


def ci(plan: Plan) -> str:
    """A job of GitHub Actions; its runner keeps no files, so the store must be elsewhere."""
    if not plan.remote:
        raise TalopsError(
            "a CI job needs a store that outlives it, and this one is a directory",
            where="store: of backup: in cluster.yaml",
            hint="use talops backup schedule systemd, or mount a disk in the runner",
        )
    hour, minute = plan.hour_and_minute
    return f"""\
# .github/workflows/backup.yaml
name: Back up etcd of {plan.cluster}
on:
  schedule:
    - cron: "{minute} {hour} * * *"
  workflow_dispatch: {{}}
permissions:
  contents: read
concurrency: backup
jobs:
  backup:
    # A runner that reaches port 50000 of the control planes.
    runs-on: self-hosted
    steps:
      - uses: actions/checkout@v4
      - run: talops backup create
      - run: talops backup prune --yes
      - run: talops verify
    env:
      SOPS_AGE_KEY: ${{{{ secrets.SOPS_AGE_KEY }}}}
"""


WAYS = {"systemd": systemd, "cron": cron, "ci": ci}


def _without_specifiers(text: object) -> str:
    """Systemd replaces % and a letter."""
    return str(text).replace("%", "%%")


def _quoted(text: str) -> str:
    """One word; spaces would end it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{_without_specifiers(escaped)}"'
