"""Faults of every kind at once, in random order: a run converges, or says rightly why not."""

from __future__ import annotations

import asyncio
import contextlib
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.conftest import Lab, kill_group
from tests.e2e.holdings import holdings
from tests.e2e.scanning import MARK, Watcher, known_secrets, leaks
from tests.e2e.states import USER, remote_states

from talops.lab.faults import Fault
from talops.lab.talos.machine.failures import PHASES
from talops.lab.talos.machine.faults import FaultBook
from talops.lab.talos.machine.faults import Faults as NodeFaults

if TYPE_CHECKING:
    import random
    from pathlib import Path

    from tests.statestore.running import RestartingServer

pytestmark = [pytest.mark.slow, pytest.mark.chaos, pytest.mark.timeout(3600)]

MakeLab = Callable[..., contextlib.AbstractAsyncContextManager[Any]]
LIVES = 50
VMS = {"e2e-cp-1", "e2e-w-1"}

MADE = "made to fail by the lab"
CUT = ("eof", "reset", "closed", "cannot reach", "disconnected", "connection")
# Each with words of which one must be in the message of a run that fails because of it. Without
# words no run may fail because of it.
PROXMOX = {
    "error": (
        Fault("error", path="/qemu", method="POST", status=500, message=MADE, times=2),
        (MADE,),
    ),
    "late error": (
        Fault("error", path="/qemu$", method="POST", when="after", message=MADE, times=1),
        (MADE,),
    ),
    "drop": (Fault("drop", path="/qemu", times=1, skip=1), CUT),
    "late drop": (Fault("drop", path="/status/start", when="after", times=1), CUT),
    "failing task": (
        Fault("task", task="qmcreate", step="config", message="got timeout"),
        ("got timeout",),
    ),
    "latency": (Fault("latency", path="/nodes", seconds=0.3, times=20), ()),
    "locked": (Fault("vm-locked", vmid=111, times=3), ("locked",)),
    "storage full": (Fault("storage-full", storage="local-lvm", times=2), ("space", "full")),
    "token revoked": (Fault("token-revoked", times=4), ("401", "token", "authentication")),
    "clock skew": (Fault("clock-skew", seconds=3600.0, times=50), ("clock", "certificate")),
    "node offline": (Fault("node-offline", times=3, skip=12), (*CUT, "no route to host")),
    "stalling task": (Fault("stall", task="qmstart", step="power-on", seconds=2.0, times=2), ()),
}
# Those of a bring-up; the rest of a node's life has its own tests.
CRASHES = PHASES[: PHASES.index("stop")]
NODES = {
    "slow boot": NodeFaults(slow_boot=3.0),
    **{f"crash in {phase}": NodeFaults(crash_at=phase) for phase in CRASHES},
    "never ready": NodeFaults(never_ready=True),
    "wrong disk": NodeFaults(wrong_disk=True),
    "clock skew": NodeFaults(clock_skew=900.0),
    "network lost": NodeFaults(network_lost=True),
    "refuses bootstrap": NodeFaults(refuse_bootstrap=True),
    "full disk": NodeFaults(disk_full=True),
}


@dataclass(frozen=True)
class Round:
    """What happens during one `up`."""

    proxmox: str | None
    node: tuple[str, str] | None
    kill_after: int | None
    restart_states_after: int | None
    healed_after: float  # seconds: an operator repairs the nodes


def draw(dice: random.Random) -> list[Round]:
    """Some rounds with trouble; the last `up` has none and must succeed."""
    return [
        Round(
            dice.choice([None, *PROXMOX]),
            dice.choice([None, *((vm, kind) for vm in sorted(VMS) for kind in NODES)]),
            dice.choice([None, dice.randrange(1, 140)]),
            dice.choice([None, dice.randrange(1, 140)]),
            dice.uniform(5, 25),
        )
        for _ in range(dice.randrange(1, 4))
    ]


@pytest.mark.parametrize("life", range(LIVES))
async def test_mixed_faults(
    life: int, make_lab: MakeLab, tmp_path: Path, rng: random.Random, tool: Callable[[str], Path]
) -> None:
    """From nothing to nothing through trouble; nothing is lost, doubled or left in plain text."""
    rounds = draw(rng)
    async with make_lab(control_planes=1, workers=1, sealed=True, as_users=True) as lab:
        lab.environment[MARK] = uuid.uuid4().hex
        password = uuid.uuid4().hex
        await lab.keep(tfstate_username=USER, tfstate_password=password)
        with (
            remote_states(lab, tmp_path, password) as (phoenix, _),
            Watcher(lab.environment[MARK]) as watcher,
        ):
            for number, each in enumerate(rounds):
                # What a killed run left locked may be what stops the next one.
                left = ("lock",) if any(r.kill_after for r in rounds[:number]) else ()
                code, said = await _up_in_trouble(lab, phoenix, each)
                if code not in {0, None}:
                    diagnosed(each, said, left)
                assert leaks(lab, await known_secrets(lab, tool("sops"))) == []
            await _converges(lab, rounds)
            secrets = await known_secrets(lab, tool("sops"))
            assert password in secrets
            assert leaks(lab, secrets) == []
            assert watcher.leaks(secrets) == []


async def _converges(lab: Lab, rounds: list[Round]) -> None:
    done = await lab.talops("up", "--yes")
    if done.code:  # a tofu that could not give its lock back while the server was away
        assert "talops state unlock" in done.everything, f"{rounds}\n{done.everything}"
        done = await lab.talops("recover", "--yes")
    assert done.code == 0, f"{rounds}\n{done.everything}"
    assert holdings(lab).problems(VMS) == [], rounds
    again = await lab.talops("up", "--dry-run")
    assert again.code == 0, f"{rounds}\n{again.everything}"
    gone = await lab.talops("down", "--yes", "--cluster", "e2e", "--force")
    assert gone.code == 0, f"{rounds}\n{gone.everything}"
    assert lab.vms() == {}


async def _up_in_trouble(
    lab: Lab, phoenix: RestartingServer, each: Round
) -> tuple[int | None, str]:
    faults, book = lab.world.faults, _nodes(lab)
    if each.proxmox:
        faults.add(PROXMOX[each.proxmox][0])
    if each.node:
        book.set(each.node[0], NODES[each.node[1]])
    healing = asyncio.create_task(_heal(lab, each))
    try:
        return await _watched(lab, phoenix, each)
    finally:
        healing.cancel()
        await asyncio.gather(healing, return_exceptions=True)
        faults.remove(None)
        if each.node:
            book.clear(each.node[0])


async def _heal(lab: Lab, each: Round) -> None:
    """Faults of nodes end after a while, as they do when an operator repairs them."""
    await asyncio.sleep(each.healed_after)
    if each.node:
        _nodes(lab).clear(each.node[0])


def _nodes(lab: Lab) -> FaultBook:
    host = lab.world.talos.host
    assert host
    return host.faults


async def _watched(lab: Lab, phoenix: RestartingServer, each: Round) -> tuple[int | None, str]:
    """Exit code of an `up` and how it ended; None for one that was killed."""
    process = await lab.start("up", "--yes", "-o", "json")
    assert process.stdout
    number, last = 0, ""
    try:
        async for line in process.stdout:
            number += 1
            lab.said.append(line.decode())
            # A note may follow the end: that the shared lock cannot be released.
            last = last if b'"run_finished"' in last.encode() else line.decode()
            if number == each.restart_states_after:
                await asyncio.to_thread(phoenix.rise)
            if number == each.kill_after:
                return None, last
        await process.wait()
    finally:
        kill_group(process)
        await process.wait()
        rest, errors = await process.communicate()
        lab.said += [rest.decode(), errors.decode()]
    return process.returncode, last


def diagnosed(each: Round, said: str, left: tuple[str, ...]) -> None:
    """A run that failed says what, where and what to do next, and it fits what was wrong."""
    event = json.loads(said)
    assert event["kind"] == "run_finished", said
    error = event["error"]
    assert error, said
    assert error["what"], said
    assert "bug:" not in error["what"], said
    assert error["hint"] or error["where"], said
    words = [*left]
    words += PROXMOX[each.proxmox][1] if each.proxmox else ()
    words += [each.node[0]] if each.node else []
    words += ["state", "lock"] if each.restart_states_after else []
    assert any(word in json.dumps(error).lower() for word in words), (each, words, error)
