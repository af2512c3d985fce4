"""What the real talosctl is asked about a lab of one control plane and one worker.

`{cp}` and `{worker}` are addresses. A line of the answer matches each pattern; spaces stand for
any number of spaces.
"""

from __future__ import annotations

from dataclasses import dataclass

_RESOURCE = "NODE NAMESPACE TYPE ID VERSION"
_COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
_CHECKS = (
    *("etcd to be healthy", "etcd members to be consistent across nodes"),
    *("etcd members to be control plane nodes", "apid to be ready", "all nodes memory sizes"),
    *("all nodes disk sizes", "no diagnostics", "kubelet to be healthy"),
    *("all nodes to finish boot sequence", "all k8s nodes to report"),
    "all control plane static pods to be running",
    *("all control plane components to be ready", "all k8s nodes to report ready"),
    "all k8s nodes to report schedulable",
)
_HEALTH = (
    *(f"waiting for {check}: OK$" for check in _CHECKS),
    *(f"waiting for {app} to report ready: SKIP$" for app in ("kube-proxy", "coredns")),
)


@dataclass(frozen=True)
class Asked:
    """A command; `code` is what it ends with against a real node too."""

    words: str
    shows: tuple[str, ...] = ()
    code: int = 0
    lacks: str = ""


def _of(kind: str, columns: str, *rows: str) -> Asked:
    return Asked(f"get {kind}", (f"^{_RESOURCE} {columns}$", *rows))


RESOURCES = (
    _of("members", "HOSTNAME MACHINE TYPE OS ADDRESSES", "cp-1 controlplane", "w-1 worker"),
    _of("machinestatus", "STAGE READY", "running true"),
    _of("nodename", "NODENAME", "Nodename nodename 1 cp-1$"),
    _of("hostname", "HOSTNAME DOMAINNAME", r"HostnameStatus hostname \d+ cp-1"),
    _of("addresses", "ADDRESS LINK", "{cp}/24 eth0$", "127.0.0.1/8 lo$"),
    _of(
        "links",
        "ALIAS TYPE KIND HW ADDR OPER STATE LINK STATE",
        "eth0 1 ether bc:24:11:00:00:01 up true",
        "lo 1 loopback",
    ),
    _of(
        "disks",
        "SIZE READ ONLY TRANSPORT ROTATIONAL WWID MODEL SERIAL",
        "sda 1 21.5 GB false virtio QEMU HARDDISK disk-1",
        "sr0 1 [0-9]+ B true",
    ),
    _of("volumestatus", "TYPE PHASE LOCATION SIZE", "EPHEMERAL 1 partition ready /dev/sda"),
    _of(
        "discoveredvolumes",
        "TYPE SIZE DISCOVERED LABEL PARTITIONLABEL",
        r"sda \d+ disk 21.5 GB gpt",
        r"sda\d \d+ partition .* EPHEMERAL EPHEMERAL$",
    ),
    _of("routes", "DESTINATION GATEWAY LINK METRIC", "RouteStatus .* eth0 1024$"),
    Asked("get mc", (f"^{_RESOURCE}$", "MachineConfig v1alpha1")),
    Asked("get mc v1alpha1 -o jsonpath={{.spec}}", ("^version: v1alpha1", "type: controlplane")),
    _of("diagnostics", "MESSAGE"),
)
SYSTEM = (
    Asked("version", ("Tag: v1.13.9$", "NODE: {cp}$", "Enabled: RBAC$")),
    Asked("services", ("^NODE SERVICE STATE HEALTH LAST CHANGE LAST EVENT$", "etcd Running OK")),
    Asked("service etcd", ("^STATE Running$", "^HEALTH OK$")),
    Asked("logs machined", ("service.*Running",)),
    Asked("logs controller-runtime"),
    Asked("logs -k kube-system/kube-apiserver-cp-1:kube-apiserver", ('"msg"|[IWE][0-9]{{4}}',)),
    Asked("logs nope", ('log "nope" was not registered',), code=1),
    Asked("dmesg", ("machine is running, ready",)),
    Asked("memory", ("^NODE TOTAL USED FREE", "{cp} 2048")),
    Asked("time", ("^NODE NTP-SERVER NODE-TIME NTP-SERVER-TIME$", "{cp}")),
    Asked("read /etc/os-release", ("VERSION_ID=v1.13.9",)),
    Asked("read /nope", ("no such file or directory",), code=1),
    Asked("list /", ("^NODE NAME$", "{cp} etc$", "{cp} usr$")),
    Asked("list -l /", ("^NODE MODE UID GID", "Lrwxrwxrwx .* bin -> usr/bin$")),
    Asked("list -r /sys/dev", ("block/8:0$",)),
    Asked("list -t l /", ("{cp} bin$",), lacks="etc$"),
    Asked("list /nope", ("lstat /nope: no such file or directory",), code=1),
    Asked("usage /var", ("^NODE SIZE NAME$", "lib/etcd$")),
    Asked("cp /etc/hostname {folder}/copied"),
    Asked("cp /nope {folder}/copied", ("lstat /nope: no such file or directory",), code=1),
    Asked("mounts", ("^NODE FILESYSTEM", "/dev/sda3 .* /var$")),
    Asked("processes", ("PID STATE THREADS CPU-TIME", "/usr/bin/etcd")),
    Asked("stats", ("^NODE NAMESPACE ID MEMORY", "system apid")),
    Asked("stats -k", tuple(f"k8s.io .*{name}-cp-1" for name in _COMPONENTS)),
    Asked("containers", ("system apid .* RUNNING$", "system trustd")),
    Asked("containers -k", tuple(f"{name}:v.* CONTAINER_RUNNING$" for name in _COMPONENTS)),
    Asked("netstat -lp", ("^NODE Proto Recv-Q", r":::50000 :::\* LISTEN [0-9]+/apid")),
    Asked("image list", tuple(f"registry.k8s.io/{name}:v1.36" for name in _COMPONENTS)),
    Asked("image list --namespace system", ("ghcr.io/siderolabs/kubelet:v1.36.3 sha256:",)),
    Asked(
        "inspect dependencies",
        ("digraph", "LinkStatuses.net.talos.dev", "network.LinkStatusController"),
    ),
    Asked("cgroups --preset cpu", ("^NAME CpuWeight", "etcd 100 0", "kube-apiserver")),
    Asked("cgroups --preset cpuset", ("init 0-1 0$",)),
    Asked("cgroups --preset io", ("apid sda: 1.0 MiB/1.0 MiB",)),
    Asked("cgroups --preset memory", ("apid 30 MiB 30 MiB .* 16 MiB .* 128 MiB$",)),
    Asked("cgroups --preset process", (r"init 1 1 max 1 1 \[machined\]",)),
    Asked("cgroups --preset psi", ("kubelet 30 MiB 0.00",)),
    Asked("cgroups --preset swap", ("kubelet 0 B 0 B max",)),
    Asked("meta write 0x0a text"),
    Asked("meta delete 0x0a"),
    Asked("config info", ("^Roles: os:admin$", "^Nodes: {cp}$")),
)
CLUSTER = (
    Asked("etcd members", ("^NODE ID HOSTNAME PEER URLS", "cp-1 https://{cp}:2380 .* false$")),
    Asked("etcd status", ("^NODE MEMBER DB SIZE",)),
    Asked("etcd alarm list"),
    Asked("etcd defrag"),
    Asked("etcd snapshot {folder}/etcd.db", ("etcd snapshot saved to",)),
    Asked("kubeconfig {folder}/kubeconfig"),
    Asked("health --server=true --wait-timeout 60s", ("discovered nodes:", *_HEALTH)),
    Asked("health --server=false --wait-timeout 60s", _HEALTH),
    Asked(
        "support -n {cp},{worker} -O {folder}/support.zip",
        ("Support bundle is written",),
        lacks="Processed with errors",
    ),
    Asked("apply-config -f {folder}/config.yaml --dry-run", ("^No changes.$",)),
    Asked("patch mc --dry-run -p @{folder}/patch.yaml", ("Applied configuration", r"\+ .*zone")),
    Asked(
        "upgrade-k8s --dry-run --to 1.36.4",
        ("{worker}.*pre-pulling", 'updating "kube-scheduler"', "updating kubelet", "< created"),
        lacks="not implemented",
    ),
    Asked("image list", ("kube-scheduler:v1.36.4",)),
    # This version makes its next client from the config that a dry run does not return.
    Asked(
        "rotate-ca --dry-run",
        ("{worker}: OK", "no changes were made", "failed to determine endpoints"),
        code=1,
    ),
    Asked("rotate-ca --dry-run --talos=false", ("{worker}: skipped", "no changes were made")),
)
# All of it through the control plane, which loses sight of the worker meanwhile.
POWER = (
    Asked("-n {worker} reboot --wait", ("post check passed",)),
    Asked(
        "-n {worker} upgrade --wait --image ghcr.io/siderolabs/installer:v1.13.10",
        ("upgrade completed", "node drained", "post check passed"),
    ),
    Asked("-n {worker} version", ("Tag: v1.13.10$",)),
    Asked("-n {worker} reset --wait --reboot", ("post check passed",)),
)
