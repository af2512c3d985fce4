"""The mark of an upgrade in progress: a ConfigMap, so that another run finishes it.

The last step, the bootstrap manifests, changes no version that could be seen: without the mark a
run that was killed before it would never be finished.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.kube.objects import Ref

if TYPE_CHECKING:
    from talops.kube.client import KubeClient
    from talops.kube.objects import Object

MARK = Ref("v1", "ConfigMap", "talops-kubernetes-upgrade", "kube-system")
_FROM, _TO = "from", "to"


async def begin(kube: KubeClient, before: str, to: str) -> None:
    """An interrupted upgrade keeps the version from which it started."""
    left = await kube.get(MARK)
    await kube.apply(
        {
            "apiVersion": MARK.api_version,
            "kind": MARK.kind,
            "metadata": {"name": MARK.name, "namespace": MARK.namespace},
            "data": {_FROM: marked(left) or before, _TO: to},
        }
    )


async def end(kube: KubeClient) -> None:
    await kube.delete(MARK)


def marked(found: Object | None) -> str:
    """The version from which an unfinished upgrade started; empty without a mark."""
    return str(((found or {}).get("data") or {}).get(_FROM) or "")
