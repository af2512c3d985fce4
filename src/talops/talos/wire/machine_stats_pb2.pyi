from talops.talos.wire import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class MemInfo(_message.Message):
    __slots__ = ("memtotal", "memfree", "memavailable", "buffers", "cached", "swapcached", "active", "inactive", "activeanon", "inactiveanon", "activefile", "inactivefile", "unevictable", "mlocked", "swaptotal", "swapfree", "dirty", "writeback", "anonpages", "mapped", "shmem", "slab", "sreclaimable", "sunreclaim", "kernelstack", "pagetables", "nfsunstable", "bounce", "writebacktmp", "commitlimit", "committedas", "vmalloctotal", "vmallocused", "vmallocchunk", "hardwarecorrupted", "anonhugepages", "shmemhugepages", "shmempmdmapped", "cmatotal", "cmafree", "hugepagestotal", "hugepagesfree", "hugepagesrsvd", "hugepagessurp", "hugepagesize", "directmap4k", "directmap2m", "directmap1g")
    MEMTOTAL_FIELD_NUMBER: _ClassVar[int]
    MEMFREE_FIELD_NUMBER: _ClassVar[int]
    MEMAVAILABLE_FIELD_NUMBER: _ClassVar[int]
    BUFFERS_FIELD_NUMBER: _ClassVar[int]
    CACHED_FIELD_NUMBER: _ClassVar[int]
    SWAPCACHED_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_FIELD_NUMBER: _ClassVar[int]
    INACTIVE_FIELD_NUMBER: _ClassVar[int]
    ACTIVEANON_FIELD_NUMBER: _ClassVar[int]
    INACTIVEANON_FIELD_NUMBER: _ClassVar[int]
    ACTIVEFILE_FIELD_NUMBER: _ClassVar[int]
    INACTIVEFILE_FIELD_NUMBER: _ClassVar[int]
    UNEVICTABLE_FIELD_NUMBER: _ClassVar[int]
    MLOCKED_FIELD_NUMBER: _ClassVar[int]
    SWAPTOTAL_FIELD_NUMBER: _ClassVar[int]
    SWAPFREE_FIELD_NUMBER: _ClassVar[int]
    DIRTY_FIELD_NUMBER: _ClassVar[int]
    WRITEBACK_FIELD_NUMBER: _ClassVar[int]
    ANONPAGES_FIELD_NUMBER: _ClassVar[int]
    MAPPED_FIELD_NUMBER: _ClassVar[int]
    SHMEM_FIELD_NUMBER: _ClassVar[int]
    SLAB_FIELD_NUMBER: _ClassVar[int]
    SRECLAIMABLE_FIELD_NUMBER: _ClassVar[int]
    SUNRECLAIM_FIELD_NUMBER: _ClassVar[int]
    KERNELSTACK_FIELD_NUMBER: _ClassVar[int]
    PAGETABLES_FIELD_NUMBER: _ClassVar[int]
    NFSUNSTABLE_FIELD_NUMBER: _ClassVar[int]
    BOUNCE_FIELD_NUMBER: _ClassVar[int]
    WRITEBACKTMP_FIELD_NUMBER: _ClassVar[int]
    COMMITLIMIT_FIELD_NUMBER: _ClassVar[int]
    COMMITTEDAS_FIELD_NUMBER: _ClassVar[int]
    VMALLOCTOTAL_FIELD_NUMBER: _ClassVar[int]
    VMALLOCUSED_FIELD_NUMBER: _ClassVar[int]
    VMALLOCCHUNK_FIELD_NUMBER: _ClassVar[int]
    HARDWARECORRUPTED_FIELD_NUMBER: _ClassVar[int]
    ANONHUGEPAGES_FIELD_NUMBER: _ClassVar[int]
    SHMEMHUGEPAGES_FIELD_NUMBER: _ClassVar[int]
    SHMEMPMDMAPPED_FIELD_NUMBER: _ClassVar[int]
    CMATOTAL_FIELD_NUMBER: _ClassVar[int]
    CMAFREE_FIELD_NUMBER: _ClassVar[int]
    HUGEPAGESTOTAL_FIELD_NUMBER: _ClassVar[int]
    HUGEPAGESFREE_FIELD_NUMBER: _ClassVar[int]
    HUGEPAGESRSVD_FIELD_NUMBER: _ClassVar[int]
    HUGEPAGESSURP_FIELD_NUMBER: _ClassVar[int]
    HUGEPAGESIZE_FIELD_NUMBER: _ClassVar[int]
    DIRECTMAP4K_FIELD_NUMBER: _ClassVar[int]
    DIRECTMAP2M_FIELD_NUMBER: _ClassVar[int]
    DIRECTMAP1G_FIELD_NUMBER: _ClassVar[int]
    memtotal: int
    memfree: int
    memavailable: int
    buffers: int
    cached: int
    swapcached: int
    active: int
    inactive: int
    activeanon: int
    inactiveanon: int
    activefile: int
    inactivefile: int
    unevictable: int
    mlocked: int
    swaptotal: int
    swapfree: int
    dirty: int
    writeback: int
    anonpages: int
    mapped: int
    shmem: int
    slab: int
    sreclaimable: int
    sunreclaim: int
    kernelstack: int
    pagetables: int
    nfsunstable: int
    bounce: int
    writebacktmp: int
    commitlimit: int
    committedas: int
    vmalloctotal: int
    vmallocused: int
    vmallocchunk: int
    hardwarecorrupted: int
    anonhugepages: int
    shmemhugepages: int
    shmempmdmapped: int
    cmatotal: int
    cmafree: int
    hugepagestotal: int
    hugepagesfree: int
    hugepagesrsvd: int
    hugepagessurp: int
    hugepagesize: int
    directmap4k: int
    directmap2m: int
    directmap1g: int
    def __init__(self, memtotal: _Optional[int] = ..., memfree: _Optional[int] = ..., memavailable: _Optional[int] = ..., buffers: _Optional[int] = ..., cached: _Optional[int] = ..., swapcached: _Optional[int] = ..., active: _Optional[int] = ..., inactive: _Optional[int] = ..., activeanon: _Optional[int] = ..., inactiveanon: _Optional[int] = ..., activefile: _Optional[int] = ..., inactivefile: _Optional[int] = ..., unevictable: _Optional[int] = ..., mlocked: _Optional[int] = ..., swaptotal: _Optional[int] = ..., swapfree: _Optional[int] = ..., dirty: _Optional[int] = ..., writeback: _Optional[int] = ..., anonpages: _Optional[int] = ..., mapped: _Optional[int] = ..., shmem: _Optional[int] = ..., slab: _Optional[int] = ..., sreclaimable: _Optional[int] = ..., sunreclaim: _Optional[int] = ..., kernelstack: _Optional[int] = ..., pagetables: _Optional[int] = ..., nfsunstable: _Optional[int] = ..., bounce: _Optional[int] = ..., writebacktmp: _Optional[int] = ..., commitlimit: _Optional[int] = ..., committedas: _Optional[int] = ..., vmalloctotal: _Optional[int] = ..., vmallocused: _Optional[int] = ..., vmallocchunk: _Optional[int] = ..., hardwarecorrupted: _Optional[int] = ..., anonhugepages: _Optional[int] = ..., shmemhugepages: _Optional[int] = ..., shmempmdmapped: _Optional[int] = ..., cmatotal: _Optional[int] = ..., cmafree: _Optional[int] = ..., hugepagestotal: _Optional[int] = ..., hugepagesfree: _Optional[int] = ..., hugepagesrsvd: _Optional[int] = ..., hugepagessurp: _Optional[int] = ..., hugepagesize: _Optional[int] = ..., directmap4k: _Optional[int] = ..., directmap2m: _Optional[int] = ..., directmap1g: _Optional[int] = ...) -> None: ...

class Memory(_message.Message):
    __slots__ = ("metadata", "meminfo")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    MEMINFO_FIELD_NUMBER: _ClassVar[int]
    metadata: _common_pb2.Metadata
    meminfo: MemInfo
    def __init__(self, metadata: _Optional[_Union[_common_pb2.Metadata, _Mapping]] = ..., meminfo: _Optional[_Union[MemInfo, _Mapping]] = ...) -> None: ...

class MemoryResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[Memory]
    def __init__(self, messages: _Optional[_Iterable[_Union[Memory, _Mapping]]] = ...) -> None: ...

class LoadAvg(_message.Message):
    __slots__ = ("metadata", "load1", "load5", "load15")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    LOAD1_FIELD_NUMBER: _ClassVar[int]
    LOAD5_FIELD_NUMBER: _ClassVar[int]
    LOAD15_FIELD_NUMBER: _ClassVar[int]
    metadata: _common_pb2.Metadata
    load1: float
    load5: float
    load15: float
    def __init__(self, metadata: _Optional[_Union[_common_pb2.Metadata, _Mapping]] = ..., load1: _Optional[float] = ..., load5: _Optional[float] = ..., load15: _Optional[float] = ...) -> None: ...

class LoadAvgResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[LoadAvg]
    def __init__(self, messages: _Optional[_Iterable[_Union[LoadAvg, _Mapping]]] = ...) -> None: ...

class CPUStat(_message.Message):
    __slots__ = ("user", "nice", "system", "idle", "iowait", "irq", "soft_irq", "steal", "guest", "guest_nice")
    USER_FIELD_NUMBER: _ClassVar[int]
    NICE_FIELD_NUMBER: _ClassVar[int]
    SYSTEM_FIELD_NUMBER: _ClassVar[int]
    IDLE_FIELD_NUMBER: _ClassVar[int]
    IOWAIT_FIELD_NUMBER: _ClassVar[int]
    IRQ_FIELD_NUMBER: _ClassVar[int]
    SOFT_IRQ_FIELD_NUMBER: _ClassVar[int]
    STEAL_FIELD_NUMBER: _ClassVar[int]
    GUEST_FIELD_NUMBER: _ClassVar[int]
    GUEST_NICE_FIELD_NUMBER: _ClassVar[int]
    user: float
    nice: float
    system: float
    idle: float
    iowait: float
    irq: float
    soft_irq: float
    steal: float
    guest: float
    guest_nice: float
    def __init__(self, user: _Optional[float] = ..., nice: _Optional[float] = ..., system: _Optional[float] = ..., idle: _Optional[float] = ..., iowait: _Optional[float] = ..., irq: _Optional[float] = ..., soft_irq: _Optional[float] = ..., steal: _Optional[float] = ..., guest: _Optional[float] = ..., guest_nice: _Optional[float] = ...) -> None: ...

class SoftIRQStat(_message.Message):
    __slots__ = ("hi", "timer", "net_tx", "net_rx", "block", "block_io_poll", "tasklet", "sched", "hrtimer", "rcu")
    HI_FIELD_NUMBER: _ClassVar[int]
    TIMER_FIELD_NUMBER: _ClassVar[int]
    NET_TX_FIELD_NUMBER: _ClassVar[int]
    NET_RX_FIELD_NUMBER: _ClassVar[int]
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    BLOCK_IO_POLL_FIELD_NUMBER: _ClassVar[int]
    TASKLET_FIELD_NUMBER: _ClassVar[int]
    SCHED_FIELD_NUMBER: _ClassVar[int]
    HRTIMER_FIELD_NUMBER: _ClassVar[int]
    RCU_FIELD_NUMBER: _ClassVar[int]
    hi: int
    timer: int
    net_tx: int
    net_rx: int
    block: int
    block_io_poll: int
    tasklet: int
    sched: int
    hrtimer: int
    rcu: int
    def __init__(self, hi: _Optional[int] = ..., timer: _Optional[int] = ..., net_tx: _Optional[int] = ..., net_rx: _Optional[int] = ..., block: _Optional[int] = ..., block_io_poll: _Optional[int] = ..., tasklet: _Optional[int] = ..., sched: _Optional[int] = ..., hrtimer: _Optional[int] = ..., rcu: _Optional[int] = ...) -> None: ...

class SystemStat(_message.Message):
    __slots__ = ("metadata", "boot_time", "cpu_total", "cpu", "irq_total", "irq", "context_switches", "process_created", "process_running", "process_blocked", "soft_irq_total", "soft_irq")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    BOOT_TIME_FIELD_NUMBER: _ClassVar[int]
    CPU_TOTAL_FIELD_NUMBER: _ClassVar[int]
    CPU_FIELD_NUMBER: _ClassVar[int]
    IRQ_TOTAL_FIELD_NUMBER: _ClassVar[int]
    IRQ_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_SWITCHES_FIELD_NUMBER: _ClassVar[int]
    PROCESS_CREATED_FIELD_NUMBER: _ClassVar[int]
    PROCESS_RUNNING_FIELD_NUMBER: _ClassVar[int]
    PROCESS_BLOCKED_FIELD_NUMBER: _ClassVar[int]
    SOFT_IRQ_TOTAL_FIELD_NUMBER: _ClassVar[int]
    SOFT_IRQ_FIELD_NUMBER: _ClassVar[int]
    metadata: _common_pb2.Metadata
    boot_time: int
    cpu_total: CPUStat
    cpu: _containers.RepeatedCompositeFieldContainer[CPUStat]
    irq_total: int
    irq: _containers.RepeatedScalarFieldContainer[int]
    context_switches: int
    process_created: int
    process_running: int
    process_blocked: int
    soft_irq_total: int
    soft_irq: SoftIRQStat
    def __init__(self, metadata: _Optional[_Union[_common_pb2.Metadata, _Mapping]] = ..., boot_time: _Optional[int] = ..., cpu_total: _Optional[_Union[CPUStat, _Mapping]] = ..., cpu: _Optional[_Iterable[_Union[CPUStat, _Mapping]]] = ..., irq_total: _Optional[int] = ..., irq: _Optional[_Iterable[int]] = ..., context_switches: _Optional[int] = ..., process_created: _Optional[int] = ..., process_running: _Optional[int] = ..., process_blocked: _Optional[int] = ..., soft_irq_total: _Optional[int] = ..., soft_irq: _Optional[_Union[SoftIRQStat, _Mapping]] = ...) -> None: ...

class SystemStatResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[SystemStat]
    def __init__(self, messages: _Optional[_Iterable[_Union[SystemStat, _Mapping]]] = ...) -> None: ...

class CPUInfo(_message.Message):
    __slots__ = ("processor", "vendor_id", "cpu_family", "model", "model_name", "stepping", "microcode", "cpu_mhz", "cache_size", "physical_id", "siblings", "core_id", "cpu_cores", "apic_id", "initial_apic_id", "fpu", "fpu_exception", "cpu_id_level", "wp", "flags", "bugs", "bogo_mips", "cl_flush_size", "cache_alignment", "address_sizes", "power_management")
    PROCESSOR_FIELD_NUMBER: _ClassVar[int]
    VENDOR_ID_FIELD_NUMBER: _ClassVar[int]
    CPU_FAMILY_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    MODEL_NAME_FIELD_NUMBER: _ClassVar[int]
    STEPPING_FIELD_NUMBER: _ClassVar[int]
    MICROCODE_FIELD_NUMBER: _ClassVar[int]
    CPU_MHZ_FIELD_NUMBER: _ClassVar[int]
    CACHE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PHYSICAL_ID_FIELD_NUMBER: _ClassVar[int]
    SIBLINGS_FIELD_NUMBER: _ClassVar[int]
    CORE_ID_FIELD_NUMBER: _ClassVar[int]
    CPU_CORES_FIELD_NUMBER: _ClassVar[int]
    APIC_ID_FIELD_NUMBER: _ClassVar[int]
    INITIAL_APIC_ID_FIELD_NUMBER: _ClassVar[int]
    FPU_FIELD_NUMBER: _ClassVar[int]
    FPU_EXCEPTION_FIELD_NUMBER: _ClassVar[int]
    CPU_ID_LEVEL_FIELD_NUMBER: _ClassVar[int]
    WP_FIELD_NUMBER: _ClassVar[int]
    FLAGS_FIELD_NUMBER: _ClassVar[int]
    BUGS_FIELD_NUMBER: _ClassVar[int]
    BOGO_MIPS_FIELD_NUMBER: _ClassVar[int]
    CL_FLUSH_SIZE_FIELD_NUMBER: _ClassVar[int]
    CACHE_ALIGNMENT_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_SIZES_FIELD_NUMBER: _ClassVar[int]
    POWER_MANAGEMENT_FIELD_NUMBER: _ClassVar[int]
    processor: int
    vendor_id: str
    cpu_family: str
    model: str
    model_name: str
    stepping: str
    microcode: str
    cpu_mhz: float
    cache_size: str
    physical_id: str
    siblings: int
    core_id: str
    cpu_cores: int
    apic_id: str
    initial_apic_id: str
    fpu: str
    fpu_exception: str
    cpu_id_level: int
    wp: str
    flags: _containers.RepeatedScalarFieldContainer[str]
    bugs: _containers.RepeatedScalarFieldContainer[str]
    bogo_mips: float
    cl_flush_size: int
    cache_alignment: int
    address_sizes: str
    power_management: str
    def __init__(self, processor: _Optional[int] = ..., vendor_id: _Optional[str] = ..., cpu_family: _Optional[str] = ..., model: _Optional[str] = ..., model_name: _Optional[str] = ..., stepping: _Optional[str] = ..., microcode: _Optional[str] = ..., cpu_mhz: _Optional[float] = ..., cache_size: _Optional[str] = ..., physical_id: _Optional[str] = ..., siblings: _Optional[int] = ..., core_id: _Optional[str] = ..., cpu_cores: _Optional[int] = ..., apic_id: _Optional[str] = ..., initial_apic_id: _Optional[str] = ..., fpu: _Optional[str] = ..., fpu_exception: _Optional[str] = ..., cpu_id_level: _Optional[int] = ..., wp: _Optional[str] = ..., flags: _Optional[_Iterable[str]] = ..., bugs: _Optional[_Iterable[str]] = ..., bogo_mips: _Optional[float] = ..., cl_flush_size: _Optional[int] = ..., cache_alignment: _Optional[int] = ..., address_sizes: _Optional[str] = ..., power_management: _Optional[str] = ...) -> None: ...

class CPUsInfo(_message.Message):
    __slots__ = ("metadata", "cpu_info")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    CPU_INFO_FIELD_NUMBER: _ClassVar[int]
    metadata: _common_pb2.Metadata
    cpu_info: _containers.RepeatedCompositeFieldContainer[CPUInfo]
    def __init__(self, metadata: _Optional[_Union[_common_pb2.Metadata, _Mapping]] = ..., cpu_info: _Optional[_Iterable[_Union[CPUInfo, _Mapping]]] = ...) -> None: ...

class CPUInfoResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[CPUsInfo]
    def __init__(self, messages: _Optional[_Iterable[_Union[CPUsInfo, _Mapping]]] = ...) -> None: ...

class CPUFreqStats(_message.Message):
    __slots__ = ("current_frequency", "minimum_frequency", "maximum_frequency", "governor")
    CURRENT_FREQUENCY_FIELD_NUMBER: _ClassVar[int]
    MINIMUM_FREQUENCY_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_FREQUENCY_FIELD_NUMBER: _ClassVar[int]
    GOVERNOR_FIELD_NUMBER: _ClassVar[int]
    current_frequency: int
    minimum_frequency: int
    maximum_frequency: int
    governor: str
    def __init__(self, current_frequency: _Optional[int] = ..., minimum_frequency: _Optional[int] = ..., maximum_frequency: _Optional[int] = ..., governor: _Optional[str] = ...) -> None: ...

class CPUsFreqStats(_message.Message):
    __slots__ = ("metadata", "cpu_freq_stats")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    CPU_FREQ_STATS_FIELD_NUMBER: _ClassVar[int]
    metadata: _common_pb2.Metadata
    cpu_freq_stats: _containers.RepeatedCompositeFieldContainer[CPUFreqStats]
    def __init__(self, metadata: _Optional[_Union[_common_pb2.Metadata, _Mapping]] = ..., cpu_freq_stats: _Optional[_Iterable[_Union[CPUFreqStats, _Mapping]]] = ...) -> None: ...

class CPUFreqStatsResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[CPUsFreqStats]
    def __init__(self, messages: _Optional[_Iterable[_Union[CPUsFreqStats, _Mapping]]] = ...) -> None: ...

class DiskStat(_message.Message):
    __slots__ = ("name", "read_completed", "read_merged", "read_sectors", "read_time_ms", "write_completed", "write_merged", "write_sectors", "write_time_ms", "io_in_progress", "io_time_ms", "io_time_weighted_ms", "discard_completed", "discard_merged", "discard_sectors", "discard_time_ms")
    NAME_FIELD_NUMBER: _ClassVar[int]
    READ_COMPLETED_FIELD_NUMBER: _ClassVar[int]
    READ_MERGED_FIELD_NUMBER: _ClassVar[int]
    READ_SECTORS_FIELD_NUMBER: _ClassVar[int]
    READ_TIME_MS_FIELD_NUMBER: _ClassVar[int]
    WRITE_COMPLETED_FIELD_NUMBER: _ClassVar[int]
    WRITE_MERGED_FIELD_NUMBER: _ClassVar[int]
    WRITE_SECTORS_FIELD_NUMBER: _ClassVar[int]
    WRITE_TIME_MS_FIELD_NUMBER: _ClassVar[int]
    IO_IN_PROGRESS_FIELD_NUMBER: _ClassVar[int]
    IO_TIME_MS_FIELD_NUMBER: _ClassVar[int]
    IO_TIME_WEIGHTED_MS_FIELD_NUMBER: _ClassVar[int]
    DISCARD_COMPLETED_FIELD_NUMBER: _ClassVar[int]
    DISCARD_MERGED_FIELD_NUMBER: _ClassVar[int]
    DISCARD_SECTORS_FIELD_NUMBER: _ClassVar[int]
    DISCARD_TIME_MS_FIELD_NUMBER: _ClassVar[int]
    name: str
    read_completed: int
    read_merged: int
    read_sectors: int
    read_time_ms: int
    write_completed: int
    write_merged: int
    write_sectors: int
    write_time_ms: int
    io_in_progress: int
    io_time_ms: int
    io_time_weighted_ms: int
    discard_completed: int
    discard_merged: int
    discard_sectors: int
    discard_time_ms: int
    def __init__(self, name: _Optional[str] = ..., read_completed: _Optional[int] = ..., read_merged: _Optional[int] = ..., read_sectors: _Optional[int] = ..., read_time_ms: _Optional[int] = ..., write_completed: _Optional[int] = ..., write_merged: _Optional[int] = ..., write_sectors: _Optional[int] = ..., write_time_ms: _Optional[int] = ..., io_in_progress: _Optional[int] = ..., io_time_ms: _Optional[int] = ..., io_time_weighted_ms: _Optional[int] = ..., discard_completed: _Optional[int] = ..., discard_merged: _Optional[int] = ..., discard_sectors: _Optional[int] = ..., discard_time_ms: _Optional[int] = ...) -> None: ...

class DiskStats(_message.Message):
    __slots__ = ("metadata", "total", "devices")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    metadata: _common_pb2.Metadata
    total: DiskStat
    devices: _containers.RepeatedCompositeFieldContainer[DiskStat]
    def __init__(self, metadata: _Optional[_Union[_common_pb2.Metadata, _Mapping]] = ..., total: _Optional[_Union[DiskStat, _Mapping]] = ..., devices: _Optional[_Iterable[_Union[DiskStat, _Mapping]]] = ...) -> None: ...

class DiskStatsResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[DiskStats]
    def __init__(self, messages: _Optional[_Iterable[_Union[DiskStats, _Mapping]]] = ...) -> None: ...

class NetDev(_message.Message):
    __slots__ = ("name", "rx_bytes", "rx_packets", "rx_errors", "rx_dropped", "rx_fifo", "rx_frame", "rx_compressed", "rx_multicast", "tx_bytes", "tx_packets", "tx_errors", "tx_dropped", "tx_fifo", "tx_collisions", "tx_carrier", "tx_compressed")
    NAME_FIELD_NUMBER: _ClassVar[int]
    RX_BYTES_FIELD_NUMBER: _ClassVar[int]
    RX_PACKETS_FIELD_NUMBER: _ClassVar[int]
    RX_ERRORS_FIELD_NUMBER: _ClassVar[int]
    RX_DROPPED_FIELD_NUMBER: _ClassVar[int]
    RX_FIFO_FIELD_NUMBER: _ClassVar[int]
    RX_FRAME_FIELD_NUMBER: _ClassVar[int]
    RX_COMPRESSED_FIELD_NUMBER: _ClassVar[int]
    RX_MULTICAST_FIELD_NUMBER: _ClassVar[int]
    TX_BYTES_FIELD_NUMBER: _ClassVar[int]
    TX_PACKETS_FIELD_NUMBER: _ClassVar[int]
    TX_ERRORS_FIELD_NUMBER: _ClassVar[int]
    TX_DROPPED_FIELD_NUMBER: _ClassVar[int]
    TX_FIFO_FIELD_NUMBER: _ClassVar[int]
    TX_COLLISIONS_FIELD_NUMBER: _ClassVar[int]
    TX_CARRIER_FIELD_NUMBER: _ClassVar[int]
    TX_COMPRESSED_FIELD_NUMBER: _ClassVar[int]
    name: str
    rx_bytes: int
    rx_packets: int
    rx_errors: int
    rx_dropped: int
    rx_fifo: int
    rx_frame: int
    rx_compressed: int
    rx_multicast: int
    tx_bytes: int
    tx_packets: int
    tx_errors: int
    tx_dropped: int
    tx_fifo: int
    tx_collisions: int
    tx_carrier: int
    tx_compressed: int
    def __init__(self, name: _Optional[str] = ..., rx_bytes: _Optional[int] = ..., rx_packets: _Optional[int] = ..., rx_errors: _Optional[int] = ..., rx_dropped: _Optional[int] = ..., rx_fifo: _Optional[int] = ..., rx_frame: _Optional[int] = ..., rx_compressed: _Optional[int] = ..., rx_multicast: _Optional[int] = ..., tx_bytes: _Optional[int] = ..., tx_packets: _Optional[int] = ..., tx_errors: _Optional[int] = ..., tx_dropped: _Optional[int] = ..., tx_fifo: _Optional[int] = ..., tx_collisions: _Optional[int] = ..., tx_carrier: _Optional[int] = ..., tx_compressed: _Optional[int] = ...) -> None: ...

class NetworkDeviceStats(_message.Message):
    __slots__ = ("metadata", "total", "devices")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    metadata: _common_pb2.Metadata
    total: NetDev
    devices: _containers.RepeatedCompositeFieldContainer[NetDev]
    def __init__(self, metadata: _Optional[_Union[_common_pb2.Metadata, _Mapping]] = ..., total: _Optional[_Union[NetDev, _Mapping]] = ..., devices: _Optional[_Iterable[_Union[NetDev, _Mapping]]] = ...) -> None: ...

class NetworkDeviceStatsResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[NetworkDeviceStats]
    def __init__(self, messages: _Optional[_Iterable[_Union[NetworkDeviceStats, _Mapping]]] = ...) -> None: ...

class ProcessInfo(_message.Message):
    __slots__ = ("pid", "ppid", "state", "threads", "cpu_time", "virtual_memory", "resident_memory", "command", "executable", "args", "label")
    PID_FIELD_NUMBER: _ClassVar[int]
    PPID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    THREADS_FIELD_NUMBER: _ClassVar[int]
    CPU_TIME_FIELD_NUMBER: _ClassVar[int]
    VIRTUAL_MEMORY_FIELD_NUMBER: _ClassVar[int]
    RESIDENT_MEMORY_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    EXECUTABLE_FIELD_NUMBER: _ClassVar[int]
    ARGS_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    pid: int
    ppid: int
    state: str
    threads: int
    cpu_time: float
    virtual_memory: int
    resident_memory: int
    command: str
    executable: str
    args: str
    label: str
    def __init__(self, pid: _Optional[int] = ..., ppid: _Optional[int] = ..., state: _Optional[str] = ..., threads: _Optional[int] = ..., cpu_time: _Optional[float] = ..., virtual_memory: _Optional[int] = ..., resident_memory: _Optional[int] = ..., command: _Optional[str] = ..., executable: _Optional[str] = ..., args: _Optional[str] = ..., label: _Optional[str] = ...) -> None: ...

class Process(_message.Message):
    __slots__ = ("metadata", "processes")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    PROCESSES_FIELD_NUMBER: _ClassVar[int]
    metadata: _common_pb2.Metadata
    processes: _containers.RepeatedCompositeFieldContainer[ProcessInfo]
    def __init__(self, metadata: _Optional[_Union[_common_pb2.Metadata, _Mapping]] = ..., processes: _Optional[_Iterable[_Union[ProcessInfo, _Mapping]]] = ...) -> None: ...

class ProcessesResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[Process]
    def __init__(self, messages: _Optional[_Iterable[_Union[Process, _Mapping]]] = ...) -> None: ...
