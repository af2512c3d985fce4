"""A config goes only to the machine that is the node: read, judge, record and send in one piece."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.events import MachineEnrolled
from talops.site.enrolment.admission import NOTHING_SAID, Admission
from talops.site.enrolment.machine import macs_of, read_machine, uuid_of
from talops.site.enrolment.proof import Candidate, Expected, KnownVm, judge, refusal
from talops.site.enrolment.record import EnrolmentRecord
from talops.site.enrolment.vms import known_vms
from talops.talos.calls.machine import ApplyMode
from talops.talos.kinds import LINKS, SYSTEM, SYSTEM_ID

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from talops.inventory.model import Node
    from talops.pipeline.stage import Reporter
    from talops.site.enrolment.machine import Machine
    from talops.site.enrolment.proof import Judgement
    from talops.site.fleet import Fleet
    from talops.site.site import Site


class Enrolment:
    """The machines of one run."""

    def __init__(self, site: Site, report: Reporter, admission: Admission = NOTHING_SAID) -> None:
        self._site = site
        self._report = report
        self._admission = admission
        self._record = EnrolmentRecord(site.root)
        # Machines that the user may accept, as the last look found them.
        self._unproven: dict[str, tuple[Node, Judgement]] = {}
        # VMs as the last look found them; OpenTofu may replace them between two looks.
        self._vms: dict[str, KnownVm | str] = {}

    async def examine(self, fleet: Fleet, nodes: Sequence[Node]) -> dict[str, Candidate]:
        """The machines that answer for these nodes; one that stopped answering is left out."""
        if not nodes:
            return {}
        vms, machines = await asyncio.gather(
            known_vms(self._site, nodes),
            asyncio.gather(*(self._look(fleet, node) for node in nodes)),
        )
        self._vms |= vms
        found = {
            node.name: Candidate(machine, judge(self._expected(node), machine))
            for node, machine in zip(nodes, machines, strict=True)
            if machine
        }
        judged = {
            node.name: (node, found[node.name].judgement) for node in nodes if node.name in found
        }
        self._unproven = {name: pair for name, pair in judged.items() if pair[1].acceptable}
        return found

    async def hand_over(self, fleet: Fleet, node: Node, config: str) -> None:
        """Send the first config over the connection on which the machine proved to be the node.

        The record is written first: if this process is killed now, the same machine can get its
        config from the next run.
        """
        async with fleet.candidate(node) as talos:
            machine = await read_machine(talos)
            found = await self._prove(node, machine)
            if self._admission.accepted.get(node.name) == machine.fingerprint:
                self._record.accept(node.name, machine.fingerprint)
            self._record.begin(node.name, machine.uuid, tuple(sorted(machine.macs)))
            self._report.event(
                MachineEnrolled(
                    node.name,
                    str(node.address),
                    machine.fingerprint,
                    machine.uuid,
                    tuple(sorted(machine.macs)),
                    found.evidence,
                )
            )
            await talos.machine.apply_configuration(config, mode=ApplyMode.AUTO)

    async def keep(self, fleet: Fleet, nodes: Iterable[Node]) -> None:
        """From now on these nodes have a config; those that are new here are asked who they are."""
        new = []
        for node in nodes:
            if self._record.entry(node.name) is None:
                new.append(node)
            else:
                self._record.configured(node.name)
        await asyncio.gather(*(self._introduce(fleet, node) for node in new))

    async def _look(self, fleet: Fleet, node: Node) -> Machine | None:
        try:
            async with fleet.candidate(node) as talos:
                return await read_machine(talos)
        except TalopsError:  # it left maintenance mode, or does not answer; `hand_over` finds out
            return None

    async def _prove(self, node: Node, machine: Machine) -> Judgement:
        found = judge(self._expected(node), machine) if self._knows(node) else None
        if found is None or found.doubt:
            self._vms |= await known_vms(self._site, [node])
            found = judge(self._expected(node), machine)
        if found.doubt:
            # The first refusal names them all, so that the user can accept all at once.
            others, self._unproven = self._unproven, {}
            others.pop(node.name, None)
            raise refusal([(node, found), *(others.values() if found.acceptable else ())])
        return found

    def _knows(self, node: Node) -> bool:
        return node.vm is None or node.name in self._vms

    def _expected(self, node: Node) -> Expected:
        vm = self._vms.get(node.name)
        return Expected(
            node,
            self._record.known(node.name),
            vm if isinstance(vm, KnownVm) else None,
            vm if isinstance(vm, str) else "",
            self._admission.accepted.get(node.name, ""),
            self._admission.again(node.name),
        )

    async def _introduce(self, fleet: Fleet, node: Node) -> None:
        """A node whose identity cannot be read now is asked again by the next run."""
        try:
            async with fleet.talos(node) as talos:
                system = await talos.resources.find(SYSTEM, SYSTEM_ID)
                links = await talos.resources.all(LINKS)
        except TalopsError:
            return
        self._record.introduce(node.name, uuid_of(system), tuple(sorted(macs_of(links))))
