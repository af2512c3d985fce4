"""Later configs: modes of apply, trials, and what a change does to the node."""

from __future__ import annotations

import datetime as dt
from functools import partial
from typing import TYPE_CHECKING

import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.empty_pb2 import Empty
from grpclib.const import Status
from tests.lab.talos.calls import apply, configured, refusal
from tests.lab.talos.harness import until

from talops.talos.wire.machine_pb2 import ApplyConfigurationRequest, RebootRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.lab.talos.harness import Lab

    from talops.lab.talos.machine.node import Node


async def test_a_config_that_reboots_is_the_last_one(lab: Lab) -> None:
    """Until the node is back it takes no other."""
    await configured(lab)
    lab.node("cp-1").reboots_for_config = True
    request = ApplyConfigurationRequest(data=lab.files.config("controlplane", "cp-1"))
    status, text = await refusal(lab.api("cp-1").ApplyConfiguration(request))
    assert status is Status.FAILED_PRECONDITION
    assert text.startswith("configuration was already applied and node is rebooting")


async def test_config_moves_the_address(lab: Lab) -> None:
    """The address of the config is used after the apply, chosen by the link's MAC."""
    link = {
        "apiVersion": "v1alpha1",
        "kind": "LinkConfig",
        "name": "net0",
        "addresses": [{"address": f"{lab.network}.77/24"}],
    }
    alias = {
        "apiVersion": "v1alpha1",
        "kind": "LinkAliasConfig",
        "name": "net0",
        "selector": {"match": 'mac(link.permanent_addr) == "bc:24:11:00:00:01"'},
    }
    await lab.start("cp-1")
    await lab.configure("cp-1", alias, link)
    await lab.up("cp-1")
    assert lab.node("cp-1").addresses == (f"{lab.network}.77", f"{lab.network}.1")


async def test_same_config_changes_nothing(lab: Lab) -> None:
    """A second apply answers without a reboot, and the dry run says so."""
    await configured(lab)
    boot, config = lab.node("cp-1").boot_id, lab.files.config("controlplane", "cp-1")
    answer = await apply(lab, "cp-1", config, mode=ApplyConfigurationRequest.AUTO)
    assert answer.mode == ApplyConfigurationRequest.NO_REBOOT
    assert answer.mode_details == "Applied configuration without a reboot"
    dry = await apply(lab, "cp-1", config, mode=ApplyConfigurationRequest.AUTO, dry_run=True)
    assert dry.mode_details == (
        "Dry run summary:\nApplied configuration without a reboot (skipped in dry-run).\n"
        "Config diff:\n\nNo changes."
    )
    assert lab.node("cp-1").boot_id == boot


async def test_modes_of_apply(lab: Lab) -> None:
    """NO_REBOOT refuses what needs one, AUTO reboots, STAGED waits, REBOOT always reboots."""
    await configured(lab)
    node, mode = lab.node("cp-1"), ApplyConfigurationRequest
    harder = lab.files.config("controlplane", "cp-1", files=[{"path": "/var/x"}])
    request = ApplyConfigurationRequest(data=harder, mode=mode.NO_REBOOT)
    status, text = await refusal(lab.api("cp-1").ApplyConfiguration(request))
    assert status is Status.INVALID_ARGUMENT
    assert text.startswith("this config change can't be applied in immediate mode\ndiff:\n")

    labelled = lab.files.config("controlplane", "cp-1", nodeLabels={"a": "b"})
    assert (await apply(lab, "cp-1", labelled, mode=mode.AUTO)).mode == mode.NO_REBOOT
    assert node.config is not None
    assert node.config.labels == {"a": "b"}

    boot = node.boot_id
    staged = await apply(lab, "cp-1", harder, mode=mode.STAGED)
    assert staged.mode_details == "Staged configuration to be applied after the next reboot"
    assert node.config.labels == {"a": "b"}
    answer = await apply(lab, "cp-1", harder, mode=mode.AUTO)
    assert answer.mode == mode.REBOOT

    async def rebooted() -> bool:
        return node.boot_id != boot and bool(await lab.api("cp-1").Version(Empty()))

    await until(rebooted)
    assert node.config is not None
    assert node.config.machine["files"] == [{"path": "/var/x"}]


async def test_try_mode_reverts(lab: Lab) -> None:
    """A config that is not confirmed is rolled back after its timeout."""
    await configured(lab)
    node, timeout = lab.node("cp-1"), Duration()
    timeout.FromTimedelta(dt.timedelta(seconds=0.3))
    tried = lab.files.config("controlplane", "cp-1", nodeLabels={"a": "b"})
    answer = await apply(
        lab, "cp-1", tried, mode=ApplyConfigurationRequest.TRY, try_mode_timeout=timeout
    )
    assert answer.mode_details.endswith("automatically reverted back in 0.3s")

    async def labels(wanted: dict[str, str]) -> bool:
        return node.config is not None and node.config.labels == wanted

    assert await labels({"a": "b"})
    await until(lambda: labels({}))
    assert node.store.config() == lab.files.config("controlplane", "cp-1")


async def _try(lab: Lab, labels: dict[str, str], seconds: float) -> None:
    timeout = Duration()
    timeout.FromTimedelta(dt.timedelta(seconds=seconds))
    tried = lab.files.config("controlplane", "cp-1", nodeLabels=labels)
    mode = ApplyConfigurationRequest.TRY
    await apply(lab, "cp-1", tried, mode=mode, try_mode_timeout=timeout)


def _on_trial(node: Node) -> bool:
    return node.rollback is not None


async def _running(lab: Lab, version: str) -> Callable[..., bytes]:
    """Start a control plane of this version; returns how its configs are made."""
    install = {"disk": "/dev/sda", "image": f"ghcr.io/siderolabs/installer:{version}"}
    await lab.start("cp-1", version=version)
    await lab.configure("cp-1", install=install)
    await lab.up("cp-1")
    assert lab.node("cp-1").version == version
    return partial(lab.files.config, "controlplane", "cp-1", install=install)


@pytest.mark.parametrize("version", ["v1.12.11", "v1.13.9", "v1.14.0"])
async def test_every_other_apply_ends_the_timer(lab: Lab, version: str) -> None:
    """ApplyConfiguration calls CancelConfigRollbackTimeout for every mode but TRY, before it reads
    the config: line 205 of v1alpha1_server.go in 1.12.11 and 1.13.9, line 204 in 1.14.0-rc.1.
    """
    config = await _running(lab, version)
    node, mode, same = lab.node("cp-1"), ApplyConfigurationRequest, config()
    await _try(lab, {"a": "b"}, 60)
    assert _on_trial(node)
    await apply(lab, "cp-1", same, mode=mode.TRY, dry_run=True)
    assert _on_trial(node)
    await apply(lab, "cp-1", same, mode=mode.AUTO, dry_run=True)
    assert not _on_trial(node)
    await _try(lab, {"a": "b"}, 60)
    await refusal(lab.api("cp-1").ApplyConfiguration(mode(data=b"machine: [", mode=mode.AUTO)))
    assert not _on_trial(node)
    assert node.config is not None
    assert node.config.labels == {"a": "b"}


@pytest.mark.parametrize("version", ["v1.12.11", "v1.13.9", "v1.14.0"])
async def test_a_trial_of_what_needs_a_reboot(lab: Lab, version: str) -> None:
    """Up to 1.13, TRY falls through to the check of NO_REBOOT (CanApplyImmediate); 1.14 has no
    such check (v1alpha1_server.go of 1.12.11, 1.13.9 and 1.14.0-rc.1).
    """
    config = await _running(lab, version)
    harder = config(files=[{"path": "/var/x"}])
    request = ApplyConfigurationRequest(data=harder, mode=ApplyConfigurationRequest.TRY)
    if version == "v1.14.0":
        reply = await lab.api("cp-1").ApplyConfiguration(request)
        assert reply.messages[0].mode == ApplyConfigurationRequest.TRY
        assert _on_trial(lab.node("cp-1"))
    else:
        status, text = await refusal(lab.api("cp-1").ApplyConfiguration(request))
        assert status is Status.INVALID_ARGUMENT
        assert text.startswith("this config change can't be applied in immediate mode")
        assert not _on_trial(lab.node("cp-1"))


async def test_a_second_trial_returns_to_the_first(lab: Lab) -> None:
    """RollbackToConfigAfter keeps the active config, which may itself be a tried one
    (v1alpha1_runtime.go of all supported versions).
    """
    await configured(lab)
    node = lab.node("cp-1")
    await _try(lab, {"a": "first"}, 60)
    await _try(lab, {"a": "second"}, 0.1)

    async def back() -> bool:
        return node.config is not None and node.config.labels == {"a": "first"}

    await until(back)
    assert node.store.config() == lab.files.config("controlplane", "cp-1")


async def test_the_stored_config_is_shown_once_one_was_stored(lab: Lab) -> None:
    """AcquireController does not set the resource `persistent` if the disk was the only source
    (acquire.go, line 223 of 1.14.0-rc.1); the recorded control plane of 1.13.9 has none.
    """
    await configured(lab)
    node, config = lab.node("cp-1"), lab.files.config("controlplane", "cp-1")
    shown = ("config", "MachineConfigs.config.talos.dev", "persistent")
    assert node.resources.get(shown) is None
    await _try(lab, {"a": "b"}, 60)
    assert node.resources.get(shown) is None
    await apply(lab, "cp-1", config, mode=ApplyConfigurationRequest.STAGED)

    async def stored() -> bool:
        return node.resources.get(shown) is not None

    await until(stored)


async def test_a_restart_ends_a_trial(lab: Lab) -> None:
    """The next boot runs what is stored, and no timer of the boot before changes it."""
    await configured(lab)
    node = lab.node("cp-1")
    boot = node.boot_id
    await _try(lab, {"a": "b"}, 0.5)
    await lab.api("cp-1").Reboot(RebootRequest())

    async def rebooted() -> bool:
        return node.boot_id != boot and node.config is not None and node.api_up

    await until(rebooted)
    assert node.rollback is None
    assert node.config is not None
    assert node.config.labels == {}


async def test_two_applies_at_once(lab: Lab) -> None:
    """The second caller is told that another apply is in progress."""
    await configured(lab)
    request = ApplyConfigurationRequest(data=lab.files.config("controlplane", "cp-1"))
    async with lab.node("cp-1").applying:
        assert await refusal(lab.api("cp-1").ApplyConfiguration(request)) == (
            Status.FAILED_PRECONDITION,
            "another apply configuration is already in progress",
        )
