"""`up` leaves a talosconfig that talosctl and `talops talos` can use, and `down` removes it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from ruamel.yaml import YAML
from tests.examples import EXAMPLES

from talops.inventory.load import load
from talops.machineconfig.places import PLAIN, TALOSCONFIG
from talops.pipeline.stage import Reporter, Seen
from talops.secrets.sops import Sops
from talops.site.secrets_file import SecretsFile
from talops.site.site import Site
from talops.stages.configure import ACCESS, Configure
from talops.stages.forget import Forget
from talops.talos import talosconfig

if TYPE_CHECKING:
    from talops.machineconfig.secrets.bundle import Bundle

REPORT = Reporter("configure", lambda _: None)


@pytest.fixture
def site(tmp_path: Path, bundle: Bundle) -> Site:
    for file in (EXAMPLES / "ha").glob("*.yaml"):
        shutil.copy(file, tmp_path)
    (tmp_path / PLAIN).parent.mkdir()
    (tmp_path / PLAIN).write_text(bundle.to_yaml())
    cluster = load(tmp_path).require()
    program = Path("no-program")
    return Site(
        cluster, tmp_path, {}, {}, Sops(program, tmp_path), program, tmp_path / "kubeconfig"
    )


async def configured(site: Site) -> list[str]:
    """Make what is missing; what that was."""
    stage = Configure(site, SecretsFile(site, lambda *_: None), REPORT)
    facts = await stage.observe()
    planned = stage.plan(facts)
    for change in planned:
        await stage.apply(change)
    await stage.verify(Seen(facts, tuple(planned)))
    return [change.action for change in planned]


def read(site: Site) -> dict[str, Any]:
    return cast("dict[str, Any]", YAML(typ="safe").load(site.root / TALOSCONFIG))


async def test_made_once(site: Site) -> None:
    """For the owner alone, with the control planes as endpoints; a second run leaves it alone."""
    assert ACCESS in await configured(site)
    path = site.root / TALOSCONFIG
    assert path.stat().st_mode & 0o777 == 0o600
    context = talosconfig.pick(talosconfig.read(path), site.cluster.name)
    assert context.endpoints == tuple(str(n.address) for n in site.cluster.control_planes)
    before = path.read_bytes()
    assert await configured(site) == []
    assert path.read_bytes() == before


async def test_other_clusters_stay(site: Site) -> None:
    """Their entries are neither touched by a bring-up nor by a teardown."""
    await configured(site)
    own = read(site)
    name = site.cluster.name
    own["contexts"]["other"] = own["contexts"].pop(name)
    own["context"] = "other"
    YAML().dump(own, site.root / TALOSCONFIG)
    assert await configured(site) == [ACCESS]
    assert sorted(read(site)["contexts"]) == sorted([name, "other"])

    forget = Forget(site, REPORT)
    for change in forget.plan(await forget.observe()):
        await forget.apply(change)
    assert list(read(site)["contexts"]) == ["other"]
    assert forget.plan(await forget.observe()) == []


async def test_the_last_entry_takes_the_file_with_it(site: Site) -> None:
    """Nothing is left behind that opens a cluster which is no more."""
    await configured(site)
    forget = Forget(site, REPORT)
    for change in forget.plan(await forget.observe()):
        await forget.apply(change)
    assert not (site.root / TALOSCONFIG).exists()
