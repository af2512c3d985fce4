"""The inventory of bootstrap manifests that Talos keeps in a ConfigMap. Pure.

The formats are those of Talos 1.13 (pkg/machinery/constants), of siderolabs/go-kubernetes
(kubernetes/ssa) and of fluxcd/cli-utils (pkg/object/objmetadata.go): Talos and `talosctl
upgrade-k8s` read and write the same ConfigMap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.kube.objects import Ref

if TYPE_CHECKING:
    from collections.abc import Iterable

    from talops.kube.objects import Object

NAME = "talos-bootstrap-manifests-inventory"
INVENTORY = Ref("v1", "ConfigMap", NAME, "kube-system")
OWNER = "config.k8s.io/owning-inventory"
MANAGER = "talos"
_RBAC_GROUP = "rbac.authorization.k8s.io"
_RBAC = ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")
# In these stages: what others need, then what their checksums are computed from, then the rest.
_FIRST = ("Namespace", "CustomResourceDefinition", "ClusterRole", "PriorityClass")
_SECOND = ("ConfigMap", "Secret")


@dataclass(frozen=True)
class Entry:
    """An object without the version of its API; `namespace`: empty if the kind has none."""

    namespace: str
    name: str
    group: str
    kind: str

    @classmethod
    def of(cls, obj: Object) -> Entry:
        group, _, _ = str(obj["apiVersion"]).rpartition("/")
        meta = obj["metadata"]
        return cls(meta.get("namespace") or "", meta["name"], group, obj["kind"])

    @classmethod
    def parse(cls, text: str) -> Entry:
        namespace, _, rest = text.partition("_")
        rest, _, kind = rest.rpartition("_")
        name, separator, group = rest.rpartition("_")
        if not separator:
            raise TalopsError(f"not an entry of an inventory: {text!r}", where=str(INVENTORY))
        return cls(namespace, name.replace("__", ":"), group, kind)

    def __str__(self) -> str:
        rbac = self.group == _RBAC_GROUP and self.kind in _RBAC
        name = self.name.replace(":", "__") if rbac else self.name
        return f"{self.namespace}_{name}_{self.group}_{self.kind}"


def owned(obj: Object) -> Object:
    """The object with the inventory that it belongs to."""
    meta = obj["metadata"]
    given = (meta.get("annotations") or {}).get(OWNER, NAME)
    if given != NAME:
        raise TalopsError(
            f"the manifest of {Ref.of(obj)} names another inventory: {given}",
            where=Entry.of(obj).kind,
            hint=f"remove the annotation {OWNER} from the manifest",
        )
    annotations = (meta.get("annotations") or {}) | {OWNER: NAME}
    return obj | {"metadata": meta | {"annotations": annotations}}


def require_ours(live: Object) -> None:
    """An object without an inventory may be adopted, one of another inventory may not."""
    owner = (live["metadata"].get("annotations") or {}).get(OWNER, NAME)
    if owner != NAME:
        raise TalopsError(
            f"{Ref.of(live)} belongs to the inventory {owner}, and a bootstrap manifest changes it",
            where=str(Ref.of(live)),
            hint="remove the manifest from the patches, or the object from the other inventory",
        )


def in_order(objects: Iterable[Object]) -> list[Object]:
    def stage(obj: Object) -> int:
        kind = obj["kind"]
        if kind in _FIRST:
            return _FIRST.index(kind)
        return len(_FIRST) + (kind not in _SECOND)

    return sorted(objects, key=stage)
