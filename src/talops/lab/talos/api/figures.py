"""Figures for dashboards: plausible, stable, and derived from the machine's size."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from talops.lab.talos.call import Api
from talops.talos.wire import machine_pb2

if TYPE_CHECKING:
    from google.protobuf.empty_pb2 import Empty

_USED = 0.3  # of memory
_BUSY = 0.05  # of processor time
_MEMORY = {
    "memfree": 0.5, "memavailable": 0.7, "buffers": 0.02, "cached": 0.2, "active": 0.2,
    "inactive": 0.1, "activeanon": 0.001, "inactiveanon": 0.1, "activefile": 0.1,
    "inactivefile": 0.1, "unevictable": 0.001, "mlocked": 0.001, "dirty": 0.001,
    "anonpages": 0.1, "mapped": 0.05, "shmem": 0.002, "slab": 0.05,
    "sreclaimable": 0.04, "sunreclaim": 0.01, "kernelstack": 0.002, "pagetables": 0.003,
    "commitlimit": 0.5, "committedas": 0.5, "vmallocused": 0.002, "directmap4k": 0.01,
    "directmap2m": 0.5, "directmap1g": 0.5,
}  # fmt: skip
_CPU = {
    "user": _BUSY, "nice": 0.001, "system": 0.02, "iowait": 0.005, "soft_irq": 0.002,
    "steal": 0.001,
}  # fmt: skip
# One in this many interrupts.
_SOFT_IRQS = {
    "timer": 3, "net_tx": 10, "net_rx": 5, "block": 8, "tasklet": 10, "sched": 3, "hrtimer": 10,
    "rcu": 3,
}  # fmt: skip
_LOCAL_PORT = 7445
_LISTENERS = {
    "apid": (50000,), "trustd": (50001,), "etcd": (2379, 2380), "kubelet": (10250,),
    "machined": (_LOCAL_PORT,),
}  # fmt: skip


class FiguresApi(Api):
    """machine.MachineService: Memory, LoadAvg, SystemStat, CPU…, Disk…, NetworkDeviceStats …"""

    SERVICE = "machine.MachineService"

    async def memory(self, _: Empty) -> machine_pb2.Memory:
        total = self.node.machine.memory // 1024
        shares = {name: int(total * share) for name, share in _MEMORY.items()}
        fixed = {"vmalloctotal": 2**45 // 1024, "hugepagesize": 2048}
        info = machine_pb2.MemInfo(memtotal=total, **shares, **fixed)
        return machine_pb2.Memory(meminfo=info)

    async def load_avg(self, _: Empty) -> machine_pb2.LoadAvg:
        load = self.node.machine.cores * _BUSY
        return machine_pb2.LoadAvg(load1=load, load5=load, load15=load)

    async def system_stat(self, _: Empty) -> machine_pb2.SystemStat:
        cores = self.node.machine.cores
        uptime = max(time.time() - self.node.booted_at, 0.01)
        interrupts = int(uptime * 1000) + 1
        counts = {name: interrupts // part for name, part in _SOFT_IRQS.items()}
        return machine_pb2.SystemStat(
            boot_time=int(self.node.booted_at),
            cpu_total=_processor(uptime * cores),
            cpu=[_processor(uptime)] * cores,
            irq_total=interrupts,
            irq=[interrupts],
            context_switches=interrupts * 3,
            process_created=1000,
            process_running=1,
            soft_irq_total=sum(counts.values()),
            soft_irq=machine_pb2.SoftIRQStat(**counts),
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
        names = [f"eth{i}" for i in range(len(self.node.machine.nics))]
        uptime = int(time.time() - self.node.booted_at) + 1
        devices = [
            machine_pb2.NetDev(
                name=name,
                rx_bytes=uptime * 10_000,
                rx_packets=uptime * 20,
                tx_bytes=uptime * 5_000,
                tx_packets=uptime * 15,
            )
            for name in ("lo", *names)
        ]
        total = machine_pb2.NetDev(
            name=", ".join([*names, "lo"]),
            rx_bytes=sum(device.rx_bytes for device in devices),
            rx_packets=sum(device.rx_packets for device in devices),
            tx_bytes=sum(device.tx_bytes for device in devices),
            tx_packets=sum(device.tx_packets for device in devices),
        )
        return machine_pb2.NetworkDeviceStats(total=total, devices=devices)

    async def netstat(self, _: machine_pb2.NetstatRequest) -> machine_pb2.Netstat:
        """The listening sockets; other connections are not listed."""
        kind = machine_pb2.ConnectRecord
        services = self.node.services
        found = [
            kind(
                l4proto="tcp",
                localip="::" if port != _LOCAL_PORT else "127.0.0.1",
                localport=port,
                remoteip="::",
                state=kind.LISTEN,
                process=kind.Process(pid=service.pid, name=service.id),
            )
            for name, ports in _LISTENERS.items()
            if (service := services.get(name)) is not None and service.state == "Running"
            for port in ports
        ]
        return machine_pb2.Netstat(connectrecord=found)

    async def processes(self, _: Empty) -> machine_pb2.Process:
        memory = self.node.machine.memory
        uptime = max(time.time() - self.node.booted_at, 0.0)
        found = [
            machine_pb2.ProcessInfo(
                pid=service.pid,
                ppid=0 if service.pid == 1 else 1,
                state="S",
                threads=8,
                cpu_time=uptime * _BUSY,
                virtual_memory=memory // 4,
                resident_memory=memory // 64,
                command=service.id,
                executable=f"/usr/bin/{service.id}",
                args=f"/usr/bin/{service.id}",
                label=f"system_u:system_r:{service.id}_t:s0",
            )
            for service in self.node.services.all()
            if service.state == "Running"
        ]
        return machine_pb2.Process(processes=found)

    async def mounts(self, _: Empty) -> machine_pb2.Mounts:
        size = self.node.devices[0].size if self.node.devices else 0
        memory = self.node.machine.memory
        found = [
            ("devtmpfs", memory // 2, memory // 2, "/dev"),
            ("/dev/loop0", 2**26, 0, "/"),
            ("tmpfs", memory // 2, memory // 2, "/run"),
            ("tmpfs", memory // 2, memory // 2, "/system"),
            ("tmpfs", 2**26, 2**26, "/tmp"),  # noqa: S108  (the node's, not ours)
        ]
        if not self.node.in_maintenance:
            system = self.node.store.installation().disk
            available = 0 if self.node.faults.disk_full else int(size * (1 - _USED))
            found.append((f"{system}3", size, available, "/var"))
            found.append((f"{system}2", 100 * 2**20, 90 * 2**20, "/system/state"))
        return machine_pb2.Mounts(
            stats=[
                machine_pb2.MountStat(filesystem=f, size=s, available=a, mounted_on=m)
                for f, s, a, m in found
            ]
        )


def _processor(seconds: float) -> machine_pb2.CPUStat:
    """Processor time by use."""
    parts = {name: seconds * share for name, share in _CPU.items()}
    return machine_pb2.CPUStat(**parts, idle=seconds - sum(parts.values()))
