"""Configs hold the cluster's keys: a process that is killed leaves them in no other file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.crash_points import KILLED, CrashSite

if TYPE_CHECKING:
    from pathlib import Path

TWICE = """
from pathlib import Path
from talops.generated import Action, Change
from talops.machineconfig.places import CONFIGS
from talops.site.written_configs import write
for text in ("a-key of the first", "a-key of the second"):
    write(Path(), [Change(f"{CONFIGS}/cp1.yaml", Action.UPDATE, "", text)])
code = 0
"""


def test_killed_at_every_step(tmp_path: Path) -> None:
    """The old config, the new one, or none: the next run makes it again."""

    def place(number: int) -> CrashSite:
        root = tmp_path / str(number) / "site"
        root.mkdir(parents=True)
        return CrashSite(root, root.parent, script=TWICE)

    whole = place(0)
    assert whole.run([]) == 0
    assert whole.steps > 4
    seen = set()
    for step in range(1, whole.steps + 1):
        dying = place(step)
        assert dying.run([], die_at=step) == KILLED
        seen |= dying.holders("a-key")
    assert seen == {"cp1.yaml"}
