"""A state that could not be written is brought home, unless it was overtaken."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from talops.errors import TalopsError
from talops.inventory.load import load
from talops.pipeline.lease import Fence
from talops.pipeline.stage import Reporter, Seen
from talops.render.layers import platform
from talops.site.state.copies import local_backend
from talops.stages.salvage import ERRORED, Facts, Salvage

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow

MAIN = """\
terraform {
  backend "local" { path = "terraform.tfstate" }
}
resource "terraform_data" "one" { input = 1 }
"""


class Place:
    """A layer without a provider, applied once by the real program."""

    def __init__(self, root: Path, tofu: Path) -> None:
        self.root = root
        self.cluster = load(Path(__file__).parent.parent.parent / "examples" / "ha").require()
        self.engine = tofu
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("TF_")}
        self.credentials: dict[str, Any] = {}
        self.fence = Fence()
        self.layer = root / platform(self.cluster).directory
        self.layer.mkdir(parents=True)
        (self.layer / "main.tf").write_text(MAIN, encoding="utf-8")
        for words in (("init", "-input=false"), ("apply", "-auto-approve", "-input=false")):
            subprocess.run(
                [tofu, *words], cwd=self.layer, check=True, capture_output=True, timeout=120
            )

    @property
    def state(self) -> dict[str, Any]:
        return dict(json.loads((self.layer / "terraform.tfstate").read_text(encoding="utf-8")))

    def leave(self, **changes: Any) -> None:
        """As tofu does when the backend refuses its state at the end of an apply."""
        document = json.dumps({**self.state, **changes})
        (self.layer / ERRORED).write_text(document, encoding="utf-8")

    async def salvage(self) -> list[str]:
        site: Any = self
        stage = Salvage(
            site,
            Reporter("salvage", lambda _: None),
            lambda: local_backend(self.root, self.cluster),
        )
        facts = await stage.observe()
        assert isinstance(facts, Facts)
        changes = stage.plan(facts)
        for change in changes:
            await stage.apply(change)
        await stage.verify(Seen(facts, tuple(changes)))
        return [change.action for change in changes]


async def test_unsaved_states(tmp_path: Path, tool: Callable[[str], Path]) -> None:
    """The newer one wins, an older one is only kept, a foreign one stops everything."""
    place = Place(tmp_path, tool("tofu"))
    serial = place.state["serial"]
    place.leave(serial=serial + 5, outputs={"new": {"value": 1, "type": "number"}})
    assert await place.salvage() == ["push"]
    assert place.state["outputs"]["new"]["value"] == 1
    now = place.state["serial"]
    assert now >= serial + 5
    place.leave(serial=serial)
    assert await place.salvage() == ["push"]
    assert place.state["serial"] == now, "an overtaken state changes nothing"
    kept = sorted((tmp_path / ".talops/infra").glob("*.errored.tfstate"))
    assert [path.stat().st_mode & 0o777 for path in kept] == [0o600, 0o600]
    place.leave(serial=now + 1, lineage="another")
    with pytest.raises(TalopsError, match="does not belong to this state"):
        await place.salvage()
    assert (place.layer / ERRORED).exists()
