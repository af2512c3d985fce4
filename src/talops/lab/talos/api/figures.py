"""Figures for dashboards: believable, steady, and derived from the machine's size."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from talops.lab.talos.call import Api
from talops.talos.wire import machine_pb2

if TYPE_CHECKING:
    from google.protobuf.empty_pb2 import Empty

_USED = 0.3  # of memory
_BUSY = 0.05  # of processor time


class FiguresApi(Api):
    """machine.MachineService: Memory, LoadAvg, SystemStat, CPU…, Disk…, NetworkDeviceStats …"""

    SERVICE = "machine.MachineService"

    async def memory(self, _: Empty) -> machine_pb2.Memory:
        total = self.node.machine.memory // 1024
        free = int(total * (1 - _USED))
        info = machine_pb2.MemInfo(memtotal=total, memfree=free, memavailable=free)
        return machine_pb2.Memory(meminfo=info)

    async def load_avg(self, _: Empty) -> machine_pb2.LoadAvg:
        load = self.node.machine.cores * _BUSY
        return machine_pb2.LoadAvg(load1=load, load5=load, load15=load)

    async def system_stat(self, _: Empty) -> machine_pb2.SystemStat:
        cores = self.node.machine.cores
        uptime = max(time.time() - self.node.booted_at, 0.0)
        core = machine_pb2.CPUStat(user=uptime * _BUSY, idle=uptime * (1 - _BUSY))
        total = machine_pb2.CPUStat(user=core.user * cores, idle=core.idle * cores)
        return machine_pb2.SystemStat(
            boot_time=int(self.node.booted_at),
            cpu_total=total,
            cpu=[core] * cores,
            process_created=1000,
            process_running=1,
        )

    async def cpu_info(self, _: Empty) -> machine_pb2.CPUsInfo:
        cores = self.node.machine.cores
        infos = [
            machine_pb2.CPUInfo(
                processor=index, vendor_id="lab", model_name="QEMU Virtual CPU", cpu_cores=cores
            )
            for index in range(cores)
        ]
        return machine_pb2.CPUsInfo(cpu_info=infos)

    async def cpu_freq_stats(self, _: Empty) -> machine_pb2.CPUsFreqStats:
        stats = [machine_pb2.CPUFreqStats() for _ in range(self.node.machine.cores)]
        return machine_pb2.CPUsFreqStats(cpu_freq_stats=stats)

    async def disk_stats(self, _: Empty) -> machine_pb2.DiskStats:
        devices = [machine_pb2.DiskStat(name=device.name) for device in self.node.devices]
        return machine_pb2.DiskStats(total=machine_pb2.DiskStat(), devices=devices)

    async def network_device_stats(self, _: Empty) -> machine_pb2.NetworkDeviceStats:
        names = ["lo", *(f"eth{i}" for i in range(len(self.node.machine.nics)))]
        devices = [machine_pb2.NetDev(name=name) for name in names]
        return machine_pb2.NetworkDeviceStats(total=machine_pb2.NetDev(), devices=devices)

    async def processes(self, _: Empty) -> machine_pb2.Process:
        found = [
            machine_pb2.ProcessInfo(
                pid=pid, ppid=1 if pid > 1 else 0, state="S", threads=8, command=service.id,
                executable=f"/sbin/{service.id}", args=service.id,
            )
            for pid, service in enumerate(self.node.services.all(), start=1)
            if service.state == "Running"
        ]  # fmt: skip
        return machine_pb2.Process(processes=found)

    async def mounts(self, _: Empty) -> machine_pb2.Mounts:
        size = self.node.devices[0].size if self.node.devices else 0
        available = 0 if self.node.faults.disk_full else int(size * (1 - _USED))
        stat = machine_pb2.MountStat(
            filesystem="/dev/ephemeral", size=size, available=available, mounted_on="/var"
        )
        return machine_pb2.Mounts(stats=[stat])

    async def containers(self, _: machine_pb2.ContainersRequest) -> machine_pb2.Container:
        found = [
            machine_pb2.ContainerInfo(
                namespace="system", id=service.id, name=service.id, status="RUNNING"
            )
            for service in self.node.services.all()
            if service.state == "Running" and service.id in {"apid", "etcd", "trustd"}
        ]
        return machine_pb2.Container(containers=found)
