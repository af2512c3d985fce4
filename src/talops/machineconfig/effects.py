"""Config changes of a running node that take effect only at the next reboot. Talos up to 1.13
reports them for the fields of the main document that it cannot change live. From 1.14 on it
applies everything immediately and always reports "no reboot", although it reads some settings only
at boot; no Talos version reports which.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from talops.machineconfig.contract import numbers_of
from talops.machineconfig.patches.identity import identify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Document = dict[str, Any]

_ALWAYS_LIVE = (1, 14)
_LIVE_TOP = frozenset({"cluster", "debug"})
# Fields of `machine` that Talos up to 1.13 changes on a running node.
_LIVE = frozenset(
    {
        "ca",
        "acceptedCAs",
        "certSANs",
        "time",
        "install",
        "network",
        "sysfs",
        "sysctls",
        "logging",
        "controlPlane",
        "kubelet",
        "kernel",
        "registries",
        "pods",
        "seccompProfiles",
        "nodeAnnotations",
        "nodeLabels",
        "nodeTaints",
    }
)
_LIVE_FEATURES = frozenset(
    {
        "kubernetesTalosAPIAccess",
        "kubePrism",
        "hostDNS",
        "imageCache",
        "nodeAddressSortAlgorithm",
    }
)
# Fields of `machine` that Talos 1.14 accepts live but reads only at boot.
_READ_AT_BOOT = ("type", "disks", "files")
_BOOT_FEATURES = ("diskQuotaSupport",)
# The container runtime of 1.13 reads them only at start.
_RUNTIME_DOCUMENTS = ("RegistryAuthConfig",)
_VOLUMES = frozenset(
    {
        "VolumeConfig",
        "UserVolumeConfig",
        "RawVolumeConfig",
        "SwapVolumeConfig",
        "ExistingVolumeConfig",
        "ExternalVolumeConfig",
    }
)
# Talos creates these volumes without a document, so the first document changes existing ones.
_SYSTEM_VOLUMES = "VolumeConfig"
_HEADER = frozenset({"apiVersion", "kind", "name"})
_EMPTY: tuple[Any, ...] = (None, {}, [], "")


class _Setting(NamedTuple):
    """`key` is the same at every position that Talos allows; `path` is the actual position."""

    key: str
    path: str
    value: Any
    # Whether adding or removing the setting takes effect immediately.
    new_is_live: bool = False
    gone_is_live: bool = False


def reboot_needed(
    before: Sequence[Document], after: Sequence[Document], talos_version: str
) -> tuple[str, ...]:
    """Sorted paths of the changes that require a reboot; () if all take effect immediately."""
    read = _settings_of(talos_version)
    old = {setting.key: setting for document in before for setting in read(document)}
    new = {setting.key: setting for document in after for setting in read(document)}
    paths = set()
    for key in old.keys() | new.keys():
        was, will = old.get(key), new.get(key)
        known = will or was
        assert known, "the key is from one of the two"
        live = (was is None and known.new_is_live) or (will is None and known.gone_is_live)
        if not live and _value(was) != _value(will):
            paths.add(known.path)
    return tuple(sorted(paths))


def live_part(before: Document, after: Document) -> Document:
    """Of the main document: the new one, with the old values of what Talos up to 1.13 does not
    change on a running node.
    """
    kept = {name: value for name, value in before.items() if name not in _LIVE_TOP}
    live = {name: value for name, value in after.items() if name in _LIVE_TOP}
    old, new = before.get("machine") or {}, after.get("machine") or {}
    own = _LIVE | {"features"}
    machine = {name: value for name, value in new.items() if name in own}
    machine |= {name: value for name, value in old.items() if name not in own}
    features = {k: v for k, v in (new.get("features") or {}).items() if k in _LIVE_FEATURES}
    features |= {k: v for k, v in (old.get("features") or {}).items() if k not in _LIVE_FEATURES}
    machine.pop("features", None)
    return {**kept, **live, "machine": machine | ({"features": features} if features else {})}


def applies_live(talos_version: str) -> bool:
    """Whether Talos changes every setting on a running node."""
    return numbers_of(talos_version) >= _ALWAYS_LIVE


def _value(setting: _Setting | None) -> Any:
    return None if setting is None or setting.value in _EMPTY else setting.value


def _settings_of(talos_version: str) -> Callable[[Document], Iterator[_Setting]]:
    live = applies_live(talos_version)
    machine = _machine_read_at_boot if live else _machine_rebooting

    def read(document: Document) -> Iterator[_Setting]:
        if identify(document).is_main:
            yield from machine(document.get("machine") or {})
            yield from _of_either_shape(document)
        else:
            yield from _of_document(document, runtime_reloads=live)

    return read


def _machine_rebooting(machine: Document) -> Iterator[_Setting]:
    own = {"features", "env", "systemDiskEncryption"}
    for name in machine.keys() - _LIVE - own:
        yield _Setting(name, f"machine.{name}", machine[name])
    features = machine.get("features") or {}
    for name in features.keys() - _LIVE_FEATURES:
        yield _Setting(f"feature {name}", f"machine.features.{name}", features[name])
    for host, registry in ((machine.get("registries") or {}).get("config") or {}).items():
        path = f"machine.registries.config.{host}.auth"
        yield _Setting(f"auth {host}", path, (registry or {}).get("auth"))


def _machine_read_at_boot(machine: Document) -> Iterator[_Setting]:
    for name in _READ_AT_BOOT:
        yield _Setting(name, f"machine.{name}", machine.get(name))
    features = machine.get("features") or {}
    for name in _BOOT_FEATURES:
        yield _Setting(f"feature {name}", f"machine.features.{name}", features.get(name))


def _of_either_shape(document: Document) -> Iterator[_Setting]:
    """Settings of the main document that newer Talos reads from separate documents."""
    machine = document.get("machine") or {}
    etcd = (document.get("cluster") or {}).get("etcd") or {}
    for name, value in etcd.items():
        yield _Setting(f"etcd {name}", f"cluster.etcd.{name}", value)
    yield from _variables(machine.get("env") or {}, "machine.env")
    for module in (machine.get("kernel") or {}).get("modules") or []:
        name = str(module.get("name"))
        yield _module(name, f"machine.kernel.modules.{name}", module)
    for name, encryption in (machine.get("systemDiskEncryption") or {}).items():
        volume = f"{_SYSTEM_VOLUMES}/{name.upper()}"
        path = f"machine.systemDiskEncryption.{name}"
        yield _Setting(f"{volume} encryption", path, encryption)


def _of_document(document: Document, *, runtime_reloads: bool) -> Iterator[_Setting]:
    identity = identify(document)
    if identity.kind == "EnvironmentConfig":
        yield from _variables(document.get("variables") or {}, f"{identity}.variables")
    elif identity.kind == "KernelModuleConfig":
        yield _module(identity.name, str(identity), document)
    elif identity.kind == "SecurityProfileConfig":
        isolation = document.get("workloadIsolation")
        yield _Setting("isolation", f"{identity}.workloadIsolation", isolation or None)
    elif identity.kind in _VOLUMES:
        own = identity.kind != _SYSTEM_VOLUMES
        for name in ("encryption", "mount"):
            path = f"{identity}.{name}"
            value = document.get(name)
            yield _Setting(f"{identity} {name}", path, value, own, own)
    elif identity.kind in _RUNTIME_DOCUMENTS and not runtime_reloads:
        rest = {key: value for key, value in document.items() if key not in _HEADER}
        yield _Setting(f"auth {identity.name}", str(identity), rest)


def _variables(variables: Document, place: str) -> Iterator[_Setting]:
    """A running service keeps its environment."""
    for name, value in variables.items():
        yield _Setting(f"env {name}", f"{place}.{name}", value)


def _module(name: str, path: str, module: Document) -> _Setting:
    """Loaded when first configured; never unloaded or reloaded with other parameters."""
    # A pair, to distinguish a module without parameters from a missing module.
    value = (name, tuple(module.get("parameters") or ()))
    return _Setting(f"module {name}", path, value, new_is_live=True)
