"""The arguments of Kubernetes components: as they run, and as a config asks for them. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talops.machineconfig.kubernetes_images import STATIC_PODS, Component, section

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from talops.machineconfig.request import Patch
    from talops.upgrades.kubernetes.removed import Removed

    Document = dict[str, Any]

_GATES, _PLUGINS = "feature-gates", "enable-admission-plugins"


@dataclass(frozen=True)
class Arguments:
    """Of one component: names of its flags, and of what two of them enable or disable."""

    flags: frozenset[str] = frozenset()
    gates: frozenset[str] = frozenset()
    plugins: frozenset[str] = frozenset()

    def __or__(self, other: Arguments) -> Arguments:
        return Arguments(
            self.flags | other.flags, self.gates | other.gates, self.plugins | other.plugins
        )

    def in_vain(self, component: Component, removed: Removed) -> list[tuple[str, str]]:
        """(kind, name) of everything that the new release does not know any more."""
        plugins = removed.plugins if component is Component.API_SERVER else frozenset()
        found = {
            "flag": self.flags & removed.flags.get(component, frozenset()),
            "feature gate": self.gates & removed.gates,
            "admission plugin": self.plugins & plugins,
        }
        return [(kind, name) for kind, names in found.items() for name in sorted(names)]


def of_command(words: Iterable[Any]) -> Arguments:
    """`--flag=value` of a container or of the kubelet."""
    given = [str(word).removeprefix("--") for word in words if str(word).startswith("--")]
    pairs = [word.partition("=")[::2] for word in given]
    return _arguments(pairs)


def of_config(documents: Sequence[Document], component: Component) -> Arguments:
    """What the config adds to the arguments that Talos gives; in both of its shapes."""
    own = section(documents, component)
    pairs = [
        (str(name), str(value))
        for name, given in (own.get("extraArgs") or {}).items()
        for value in (given if isinstance(given, list) else [given])
    ]
    found = _arguments(pairs)
    if component is not Component.KUBELET:
        return found
    extra = own.get("extraConfig") or own.get("config") or {}
    return found | Arguments(gates=frozenset(extra.get(_GATES_FIELD) or ()))


_GATES_FIELD = "featureGates"
CHECKED = (*STATIC_PODS, Component.KUBELET)


def _arguments(pairs: Iterable[tuple[str, str]]) -> Arguments:
    listed = list(pairs)
    return Arguments(
        frozenset(name for name, _ in listed),
        frozenset(_names(_GATES, listed)),
        frozenset(_names(_PLUGINS, listed)),
    )


def _names(flag: str, pairs: Iterable[tuple[str, str]]) -> Iterable[str]:
    for name, value in pairs:
        if name == flag:
            yield from (part.partition("=")[0].strip() for part in value.split(",") if part)


def origin(patches: Iterable[Patch], name: str) -> str:
    """The patch that mentions it; empty if it is not from a patch of the inventory."""
    return next((patch.where for patch in patches if _mentions(patch.documents, name)), "")


def _mentions(value: Any, name: str) -> bool:
    if isinstance(value, dict):
        return name in value or any(_mentions(each, name) for each in value.values())
    if isinstance(value, list | tuple):
        return any(_mentions(each, name) for each in value)
    return isinstance(value, str) and name in {p.partition("=")[0] for p in value.split(",")}
