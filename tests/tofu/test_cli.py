"""`talops infra` with real OpenTofu, on layers that need no provider."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.tofu.conftest import Talops

pytestmark = pytest.mark.slow
WAITING = """
resource "terraform_data" "slow" {
  provisioner "local-exec" {
    command = "touch ../../started; sleep 60"
  }
}
"""


def test_life_of_a_layer(talops: Talops) -> None:
    """init, plan, apply, an empty plan, outputs, state, destroy; each with its exit code."""
    talops.ok("infra", "init")
    code, _, err = talops.run("infra", "plan")
    assert code == 2
    assert "creates        a: new terraform_data.vm" in err
    saved = talops.root / ".talops/infra/02-platforms-home.tfplan"
    assert saved.stat().st_mode & 0o777 == 0o600
    talops.ok("infra", "apply")
    assert not saved.exists()
    assert talops.run("infra", "plan")[0] == 0
    outputs = json.loads(talops.ok("infra", "output", "-o", "json", "--layer", "home"))
    assert outputs["02-platforms/home"]["names"]["value"] == ["a", "b"]
    assert "hunter2" not in talops.ok("infra", "output")
    listed = json.loads(talops.ok("infra", "state-list", "-o", "json"))
    assert len(listed["01-hypervisors"]) == 2
    talops.ok("infra", "destroy")
    assert json.loads(talops.ok("infra", "state-list", "-o", "json"))["01-hypervisors"] == []


def test_apply_without_plan(talops: Talops) -> None:
    """Apply never plans."""
    code, _, err = talops.run("infra", "apply")
    assert code == 1
    assert "next: talops infra plan" in err


def test_apply_uses_the_saved_plan_only(talops: Talops) -> None:
    """What changed in the files after the plan was saved is not applied."""
    talops.ok("infra", "init", "--layer", "home")
    talops.run("infra", "plan", "--layer", "home")
    main = talops.root / "infrastructure/02-platforms/home/main.tf"
    main.write_text(main.read_text().replace('["a", "b"]', '["a", "b", "c"]'))
    code, _, err = talops.run("infra", "apply", "--layer", "home")
    assert code == 2  # the gate sees what the plan did not have
    assert "the plan after apply is not empty" in err
    listed = talops.ok("infra", "state-list", "--layer", "home")
    assert '"b"' in listed
    assert '"c"' not in listed


def test_extra_arguments_and_events(talops: Talops) -> None:
    """What follows -- reaches OpenTofu; -o json gives one event per line."""
    talops.ok("infra", "init", "--layer", "home")
    talops.ok("infra", "apply-auto", "--layer", "home")
    arguments = ("infra", "plan", "--layer", "home", "-o", "json", "--", "-var", "cores=4")
    code, out, _ = talops.run(*arguments)
    assert code == 2
    events = [json.loads(line) for line in out.splitlines()]
    judged = next(event for event in events if event["kind"] == "plan_judged")
    assert {row["effect"] for row in judged["changes"]} == {"online"}
    assert any("input.cores: 2 → 4" in str(row) for row in judged["changes"])


def test_broken_configuration(talops: Talops) -> None:
    """A mistake in a file is told with its place; validate finds it as well."""
    (talops.root / "infrastructure/02-platforms/home/bad.tf").write_text('output "x" { value = y }')
    code, _, err = talops.run("infra", "plan", "--layer", "home")
    assert code == 1
    assert "bad.tf:1" in err
    assert talops.run("infra", "validate", "--layer", "home")[0] == 1


def test_format(talops: Talops) -> None:
    """fmt-check names the files and exits with 2; fmt repairs them."""
    (talops.root / "infrastructure/02-platforms/home/ugly.tf").write_text("locals {\na=1\n}\n")
    assert talops.run("infra", "fmt-check")[:2] == (2, "02-platforms/home/ugly.tf\n")
    talops.ok("infra", "fmt")
    assert talops.run("infra", "fmt-check")[0] == 0


def test_secret_stays_in_the_environment(talops: Talops) -> None:
    """A credential reaches OpenTofu, and no argument, output, event or file beside its state."""
    layer = talops.root / "infrastructure/02-platforms/home"
    (layer / "check.tf").write_text(
        'resource "terraform_data" "p" {\n'
        '  provisioner "local-exec" {\n'
        '    command = "ps -eo args > ../../../ps; echo $TF_VAR_password; '
        'test $(printenv TF_VAR_password | wc -c) = 14 && exit 7"\n'
        "  }\n"
        "}\n"
    )
    talops.environment["TF_VAR_password"] = "s3cret-s3cret"
    talops.ok("infra", "init", "--layer", "home")
    code, out, err = talops.run("infra", "apply-auto", "--layer", "home")
    assert code == 1
    assert "exit status 7" in err  # it was there
    assert "s3cret" not in out + err + (talops.root / "ps").read_text()
    found = subprocess.run(
        ["grep", "-rl", "s3cret", str(talops.root)], capture_output=True, text=True, check=False
    )
    assert [line for line in found.stdout.split() if "terraform.tfstate" not in line] == []


def _delivered(pid: int, number: int) -> None:
    """Until a signal is no longer pending: a second one before that would be the same one."""
    status = Path(f"/proc/{pid}/status")
    while (found := re.search(r"ShdPnd:\s*(\w+)", status.read_text())) and int(found[1], 16) >> (
        number - 1
    ) & 1:
        time.sleep(0.01)


@pytest.mark.parametrize("times", [1, 2])
def test_interrupt(talops: Talops, times: int) -> None:
    """Ctrl-C once stops cleanly, twice at once; either way the exit code is 130 and nothing stays
    locked.
    """
    layer = talops.root / "infrastructure/02-platforms/home"
    (layer / "slow.tf").write_text(WAITING)
    talops.ok("infra", "init", "--layer", "home")
    process = talops.start("infra", "apply-auto", "--layer", "home")
    started = talops.root / "infrastructure/started"
    deadline = time.monotonic() + 60
    while not started.exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    for _ in range(times):
        process.send_signal(signal.SIGINT)
        _delivered(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    # A second signal may find Python itself on its way out; a shell calls that 130 too.
    assert process.returncode in {130, -signal.SIGINT if times > 1 else 130}, err
    (layer / "slow.tf").unlink()
    allowed = ("--allow-destroy", "terraform_data.slow")
    talops.ok("infra", "apply-auto", "--layer", "home", *allowed)


def test_terraform_does_it_too(talops: Talops, tmp_path: Path, tool: Callable[[str], Path]) -> None:
    """The same with Terraform, where it is installed."""
    import shutil

    if not shutil.which("terraform"):
        pytest.skip("no terraform on PATH; talops never fetches it")
    name = ("--tofu", "terraform", "--layer", "home")
    talops.ok("infra", "init", *name)
    talops.ok("infra", "apply-auto", *name)
    assert talops.run("infra", "plan", *name)[0] == 0
    talops.ok("infra", "destroy", *name)
