"""Files that make backups regular, as programs of this machine read them."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from talops.backups.cronjob import Target, access_patch, cronjob
from talops.backups.scheduling import Plan, ci, cron, systemd
from talops.errors import TalopsError
from talops.machineconfig.contract import Contract
from talops.machineconfig.schema.documents_1_14 import UNNAMED
from talops.quickyaml import load, load_all

PLAN = Plan(
    cluster="demo",
    root=Path("/srv/my clusters/100%"),
    program="/usr/bin/talops",
    at="03:07",
    key_file=Path("/srv/my clusters/100%/age.key"),
    remote=True,
)


def test_cron() -> None:
    """One line of five times and a command; % would end it."""
    line = cron(PLAN)
    minute, hour, *rest = line.split(" ", 5)
    assert (minute, hour, rest[:3]) == ("7", "3", ["*", "*", "*"])
    assert line.count("\n") == 1
    assert "%" not in line.replace("\\%", "")
    words = subprocess.run(
        ["/bin/sh", "-nc", rest[3].replace("\\%", "%")], capture_output=True, check=False
    )
    assert words.returncode == 0, words.stderr


def test_systemd(tmp_path: Path) -> None:
    """Two units; spaces and % of paths are escaped. systemd judges them where it is installed."""
    text = systemd(PLAN)
    parts = text.split("# /etc/systemd/system/")[1:]
    units = dict(part.split("\n", 1) for part in parts)
    assert sorted(units) == ["talops-backup-demo.service", "talops-backup-demo.timer"]
    assert "WorkingDirectory=/srv/my clusters/100%%\n" in units["talops-backup-demo.service"]
    assert "OnCalendar=*-*-* 03:07:00" in units["talops-backup-demo.timer"]
    program = shutil.which("systemd-analyze")
    if program:
        for name, content in units.items():
            (tmp_path / name).write_text(content.replace("/usr/bin/talops", "/bin/true"))
        files = [str(tmp_path / name) for name in units]
        done = subprocess.run([program, "verify", *files], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr


def test_ci() -> None:
    """A workflow with a schedule; the key comes from a secret of the repository."""
    found = load(ci(PLAN))
    steps = [step.get("run") for step in found["jobs"]["backup"]["steps"]]
    assert steps[1:] == ["talops backup create", "talops backup prune --yes", "talops verify"]
    assert found["jobs"]["backup"]["env"] == {"SOPS_AGE_KEY": "${{ secrets.SOPS_AGE_KEY }}"}
    with pytest.raises(TalopsError, match="a store that outlives it"):
        ci(replace(PLAN, remote=False))


TARGET = Target(
    cluster="demo",
    contract=Contract.V1_14,
    store="s3://vault/team/",
    region="eu-1",
    endpoint="https://s3.example.org",
    recipient="age1reader",
)


def test_cronjob() -> None:
    """Snapshots are all that it may do; plain ones are in memory; keys are not in the text."""
    text = cronjob(TARGET, 3, 7)
    namespace, account, job = load_all(text)
    assert (namespace["kind"], account["spec"]) == ("Namespace", {"roles": ["os:etcd:backup"]})
    assert job["spec"]["schedule"] == "7 3 * * *"
    pod = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    given = {each["name"]: each["value"] for each in container["env"]}
    assert (given["BUCKET"], given["S3_PREFIX"]) == ("vault", "team/demo")
    assert given["AGE_X25519_PUBLIC_KEY"] == "age1reader"
    memory, api = pod["volumes"]
    assert memory["emptyDir"] == {"medium": "Memory"}
    mounts = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    assert mounts[memory["name"]] == container["workingDir"]
    assert api["secret"]["secretName"] == account["metadata"]["name"]
    with pytest.raises(TalopsError, match="a store that outlives the cluster"):
        cronjob(replace(TARGET, store="/mnt/nas"), 3, 7)


def test_the_patch_of_a_cronjob_is_valid() -> None:
    """In both shapes: as Talos' own schema of 1.14, and the features of v1alpha1, name the keys."""
    allowed = {"allowedRoles", "allowedKubernetesNamespaces"}
    document = access_patch(Contract.V1_14)
    assert set(document) == {"apiVersion", "kind", *UNNAMED[document["kind"]]}
    assert set(UNNAMED[document["kind"]]) == allowed
    access = access_patch(Contract.V1_13)["machine"]["features"]["kubernetesTalosAPIAccess"]
    assert set(access) == {"enabled", *allowed}


@pytest.mark.parametrize("at", ["3:07", "24:00", "03:60", "noon", ""])
def test_times_of_day(at: str) -> None:
    """A time that cron would misread is refused."""
    with pytest.raises(TalopsError, match="is not a time of day"):
        cron(replace(PLAN, at=at))
