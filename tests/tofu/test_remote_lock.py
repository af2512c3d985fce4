"""A tofu that dies while it holds a lock on a state server: who held it, and how to go on."""

from __future__ import annotations

import os
import re
import signal
from typing import TYPE_CHECKING

import pytest
from tests.statestore.running import RestartingServer
from tests.tofu.test_lab import PATIENCE, pids

from talops.redaction import Secret
from talops.statestore.stores import StoreAddress

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.tofu.conftest import LabSite

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
UNLOCK = re.compile(r"talops (infra force-unlock --layer \S+ \S+)")


@pytest.mark.sampled("layers in the lab")
def test_lock_of_a_killed_tofu(make_site: Callable[..., LabSite], tmp_path: Path) -> None:
    """The next run does not take the lock automatically; the command that it names frees it."""
    site = make_site(1, 1, "--pace", "0.2", own_provider=True)
    store = StoreAddress(Secret(f"sqlite:{tmp_path / 'states'}"))
    server = RestartingServer(store, "--tls-self-made", str(site.talops.root / "tls"))
    try:
        with (site.talops.root / "cluster.yaml").open("a", encoding="utf-8") as file:
            url = f"https://127.0.0.1:{server.port}/home"
            file.write(f"state: {{type: http, url: '{url}', ca_file: tls/certificate.pem}}\n")
        site.talops.ok("configure", "--no-init")
        site.talops.ok("infra", "init", "--", "-reconfigure")
        _kill_tofu(site)
        code, _, err = site.talops.run("infra", "plan", "--", "-lock-timeout=1s")
        assert code == 1, err
        assert "OperationTypeApply" in err
        found = UNLOCK.search(err)
        assert found, err
        site.talops.ok(*found[1].split())
        # What was created is in the state, or is imported: one VM of each name in the end.
        site.talops.ok("infra", "apply-auto")
        assert sorted(site.vms()) == ["demo-cp-1", "demo-w-1"]
        assert site.owners() == {vm["vmid"] for vm in site.vms().values()}
    finally:
        server.stop()


def _kill_tofu(site: LabSite) -> None:
    process = site.talops.start("infra", "apply-auto")
    assert process.stderr
    for line in process.stderr:
        if "creating module" in line:
            break
    for pid in pids(process, "tofu"):
        os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
