"""The stages of a machine, and the reasons why it is not ready."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from talops.talos.wire import machine_pb2, spec_enums_pb2, spec_runtime_pb2


class Stage(enum.IntEnum):
    """The numbers are those on the wire."""

    UNKNOWN = 0
    BOOTING = 1
    INSTALLING = 2
    MAINTENANCE = 3
    RUNNING = 4
    REBOOTING = 5
    SHUTTING_DOWN = 6
    RESETTING = 7
    UPGRADING = 8

    @property
    def label(self) -> str:
        return self.name.lower().replace("_", " ")


@dataclass(frozen=True)
class Status:
    """`unmet` are pairs of condition and reason; only a machine that boots or runs is checked."""

    stage: Stage
    unmet: tuple[tuple[str, str], ...] = ()

    @property
    def ready(self) -> bool:
        return not self.unmet

    def event(self) -> machine_pb2.MachineStatusEvent:
        kind = machine_pb2.MachineStatusEvent
        conditions = [kind.MachineStatus.UnmetCondition(name=n, reason=r) for n, r in self.unmet]
        return kind(
            stage=machine_pb2.MachineStatusEvent.MachineStage.Name(self.stage),
            status=kind.MachineStatus(ready=self.ready, unmet_conditions=conditions),
        )

    def spec(self) -> spec_runtime_pb2.MachineStatusSpec:
        unmet = [spec_runtime_pb2.UnmetCondition(name=n, reason=r) for n, r in self.unmet]
        return spec_runtime_pb2.MachineStatusSpec(
            stage=spec_enums_pb2.RuntimeMachineStage.Name(self.stage),
            status=spec_runtime_pb2.MachineStatusStatus(ready=self.ready, unmet_conditions=unmet),
        )

    def yaml(self) -> dict[str, object]:
        conditions = [{"name": n, "reason": r} for n, r in self.unmet]
        return {
            "stage": self.stage.label,
            "status": {"ready": self.ready, "unmetConditions": conditions},
        }
