"""The `machine` section."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.machineconfig.validation import rules
from talops.machineconfig.validation.view import at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.machineconfig.validation.view import View

_NO_VIP = "virtual (shared) IP is not allowed on non-controlplane nodes"


def problems(view: View) -> Iterator[str]:
    if not view.machine:
        yield "machine instructions are required"
        return
    yield from _type(view)
    yield from _secrets(view)
    yield from _install(view)
    yield from _kubelet(view.machine.get("kubelet") or {})
    yield from _features(view.machine.get("features") or {})
    yield from _node(view.machine)
    yield from _interfaces(view)
    if view.main.get("persist") is False:
        yield ".persist should be enabled"


def _type(view: View) -> Iterator[str]:
    if not view.control_plane and not view.worker:
        yield f'unknown machine type "{view.machine.get("type") or ""}"'


def _secrets(view: View) -> Iterator[str]:
    ca = view.machine.get("ca") or {}
    accepted = view.machine.get("acceptedCAs")
    if not view.machine.get("token"):
        yield "a token is required: without it the node cannot join (.machine.token)"
    if not ca and not accepted:
        yield "issuing CA or some accepted CAs are required (.machine.ca, machine.acceptedCAs)"
    elif view.control_plane and not ca.get("key"):
        yield "issuing CA key is required for controlplane nodes (.machine.ca.key)"
    elif view.worker and ca.get("key"):
        yield "issuing Talos API CA key is not allowed on non-controlplane nodes (.machine.ca)"
    elif not ca.get("crt") and not accepted:
        yield "trusted CA certificates are required (.machine.ca.crt, .machine.acceptedCAs)"
    yield from rules.pair_problems(ca, ".machine.ca")


def _install(view: View) -> Iterator[str]:
    install = view.machine.get("install")
    if install is None:
        if not view.kind("UnattendedInstallConfig"):
            yield 'install instructions are required in "metal" mode'
        return
    if not install.get("disk") and not install.get("diskSelector"):
        yield "either install disk or diskSelector should be defined"
    if install.get("extraKernelArgs") and install.get("grubUseUKICmdline"):
        yield "install.extraKernelArgs and install.grubUseUKICmdline can't be used together"


def _kubelet(kubelet: dict[str, Any]) -> Iterator[str]:
    for subnet in at(kubelet, "nodeIP.validSubnets") or []:
        if not rules.is_subnet_filter(subnet):
            yield f'kubelet nodeIP subnet is not valid: "{subnet}"'
    yield from rules.kubelet_problems(kubelet.get("extraConfig"))


def _features(features: dict[str, Any]) -> Iterator[str]:
    yield from rules.host_dns_problems(features.get("hostDNS") or {}, ".machine.features.hostDNS")


def _node(machine: dict[str, Any]) -> Iterator[str]:
    yield from rules.label_problems(machine.get("nodeLabels") or {})
    yield from rules.taint_problems(machine.get("nodeTaints") or {})


def _interfaces(view: View) -> Iterator[str]:
    for device in at(view.machine, "network.interfaces") or []:
        vlans = device.get("vlans") or []
        if view.worker and any(link.get("vip") for link in [device, *vlans]):
            yield _NO_VIP
        for address in device.get("addresses") or []:
            if not (rules.is_address(address) or rules.is_interface_address(address)):
                yield f'[networking.os.device.addresses] "{address}" is not an address'
    # talosctl checks only the old format and accepts the document on a worker.
    if view.worker and view.kind("Layer2VIPConfig"):
        yield f"{_NO_VIP} (Layer2VIPConfig)"
