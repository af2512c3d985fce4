"""The real talosctl as a test tool: which version judges the lab's nodes, and how it is built.

A talosctl of the same minor version on PATH is as good. The module's own go.mod replaces some of
what it requires, which a module that requires it has to repeat.
"""

from __future__ import annotations

from talops.toolchain.catalog import Build, Tool
from talops.toolchain.version import Range

NAME = "talosctl"
VERSION = "1.13.9"
MODULE = "github.com/siderolabs/talos"
MACHINERY = f"{MODULE}/pkg/machinery"
# What stands in the place of a module that it requires: another module or version.
REPLACED = {
    "github.com/containerd/containerd/v2": "github.com/containerd/containerd/v2 v2.2.4",
    "github.com/coredns/coredns": "github.com/siderolabs/coredns v1.14.53",
    "github.com/mdlayher/ethtool": "github.com/siderolabs/ethtool v0.4.0-sidero",
    "github.com/mdlayher/kobject": ("github.com/smira/kobject v0.0.0-20240304111826-49c8d4613389"),
    "github.com/siderolabs/go-kubernetes": "github.com/siderolabs/go-kubernetes v0.2.39",
    MACHINERY: f"{MACHINERY} v{VERSION}",
    "go.etcd.io/etcd/etcdutl/v3": "go.etcd.io/etcd/etcdutl/v3 v3.6.10",
    "golang.zx2c4.com/wireguard/wgctrl": (
        "github.com/siderolabs/wgctrl-go v0.0.0-20251029173431-c4fd5f6a4e72"
    ),
}
# Digests from Talos' own go.sum.
_SSA, _WIREGUARD = (
    "github.com/fluxcd/pkg/ssa v0.73.0",
    REPLACED["golang.zx2c4.com/wireguard/wgctrl"],
)
SUMS = (
    f"{_SSA} h1:JdFp3M+Ib2vg26Vara/5eirHZ/qMNzEQ1nQ+/LaWPsc=",
    f"{_SSA}/go.mod h1:6igtlt7/zF+nNFQpa5ZAkkvtpL6o36NRU39/PqqC+Bg=",
    f"{_WIREGUARD} h1:Boabco/vhoFVTUlPcLr4B27NnYUq1QMZVgMtPvyaDzk=",
    f"{_WIREGUARD}/go.mod h1:T97yPqesLiNrOYxkwmhMI0ZIlJDm+p0PMR8eRVeR5tQ=",
)


def client_tools() -> dict[str, Tool]:
    return {
        NAME: Tool(
            name=NAME,
            version=VERSION,
            accepts=Range("1.13", "1.14"),
            programs=(NAME,),
            ask=("version", "--client", "--short"),
            release=None,
            build=Build(
                f"{MODULE} v{VERSION}",
                (f"{MODULE}/cmd/{NAME}",),
                f"{MACHINERY}/version.Tag=v{VERSION}",
                tuple(REPLACED.items()),
                sums=SUMS,
            ),
        )
    }
