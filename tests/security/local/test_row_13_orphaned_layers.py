"""A layer that the inventory drops keeps its files while its state lists VMs (row 13)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.examples import EXAMPLES
from tests.statestore.running import running

from talops import generated
from talops.errors import ConflictError, TalopsError
from talops.inventory.load import load
from talops.redaction import Secret
from talops.site.site import ClosedSite
from talops.stages.configure import Configure, pending_files, wanted_files
from talops.statestore.backends.http import HttpBackend, HttpSettings
from talops.statestore.stores import StoreAddress

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LEGACY = "legacy:\n  - name: old\n"
LAYER = "infrastructure/03-legacy/old"
RESOURCE = {"mode": "managed", "type": "t", "name": "n", "instances": [{}]}
STATE: dict[str, Any] = {"version": 4, "serial": 1, "lineage": "l", "resources": [RESOURCE]}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """Its certificate is in the directory of the inventory."""
    store = StoreAddress(Secret(f"sqlite:{tmp_path / 'states'}"))
    with running(store, "--tls-self-made", str(tmp_path / "tls")) as found:
        yield found.address


def directory(root: Path, more: str = "") -> Path:
    """The `dev` example with one more layer, as `configure` wrote it; now it is dropped."""
    for name in ("cluster.yaml", "nodes.yaml"):
        (root / name).write_text((EXAMPLES / "dev" / name).read_text("utf-8"), "utf-8")
    cluster = root / "cluster.yaml"
    text = cluster.read_text("utf-8") + more
    cluster.write_text(text + LEGACY, "utf-8")
    generated.apply(root, pending_files(load(root).require(), root))
    assert (root / LAYER / "main.tf").exists()
    cluster.write_text(text, "utf-8")
    return root


async def planned(root: Path) -> list[str]:
    """As `up`, `recover` and `drift --fix` plan it."""
    site: Any = ClosedSite(load(root).require(), root, {}, {})
    secrets: Any = None
    stage = Configure(site, secrets, secrets)

    class Read:
        async def read(self) -> None:
            return None

    stage._secrets = Read()  # type: ignore[assignment]
    return [change.path for each in stage.plan(await stage.observe()) for change in each.files]


async def test_up_keeps_the_files_of_a_layer_with_vms(tmp_path: Path) -> None:
    """The review's attack: `configure` refused, and `up` removed the files."""
    root = directory(tmp_path)
    (root / LAYER / "terraform.tfstate").write_text(json.dumps(STATE))
    with pytest.raises(ConflictError, match="its state has 1 resource") as refused:
        await planned(root)
    assert refused.value.where == LAYER
    assert "talops infra destroy --layer 03-legacy/old" in str(refused.value.hint)
    (root / LAYER / "terraform.tfstate").write_text(json.dumps({**STATE, "resources": []}))
    assert f"{LAYER}/main.tf" in await planned(root)


@pytest.mark.parametrize(
    ("content", "error", "words"),
    [
        ('{"encrypted_data": "x"}', ConflictError, "encrypted state"),
        ("{", TalopsError, "not a state"),
        ("[]", TalopsError, "not a state"),
    ],
)
async def test_a_state_that_cannot_be_read_is_not_empty(
    tmp_path: Path, content: str, error: type[TalopsError], words: str
) -> None:
    """Encrypted, or damaged: it may list resources."""
    root = directory(tmp_path)
    (root / LAYER / "terraform.tfstate").write_text(content)
    with pytest.raises(error, match=words):
        await planned(root)


async def test_states_on_a_server_count_too(tmp_path: Path, server: str) -> None:
    """There, no file of the directory tells; `configure` asks the server as well."""
    project, ca = f"{server}/dropped", "tls/certificate.pem"
    root = directory(tmp_path, f"state: {{type: http, url: '{project}', ca_file: {ca}}}\n")
    backend = HttpBackend(HttpSettings(project, ca_file=root / ca))
    assert f"{LAYER}/main.tf" in await planned(root)
    await backend.write("03-legacy-old", json.dumps(STATE).encode())
    with pytest.raises(ConflictError, match="its state has 1 resource"):
        await planned(root)
    await backend.close()


async def test_a_server_that_does_not_answer_is_not_an_empty_state(tmp_path: Path) -> None:
    """Otherwise an outage would orphan VMs."""
    root = directory(tmp_path, "state: {type: http, url: 'https://127.0.0.1:1/p'}\n")
    with pytest.raises(TalopsError):
        await planned(root)


def test_a_layer_that_stays_may_lose_a_file(tmp_path: Path) -> None:
    """A newer talops may write fewer files; its state has resources all the time."""
    root = directory(tmp_path)
    cluster = load(root).require()
    wanted = wanted_files(cluster, root)
    assert any(path.startswith("infrastructure/02-platforms/dev/") for path in wanted)
