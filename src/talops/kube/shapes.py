"""What talops relies on in each answer of the API server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.shapes import ANY, TEXT, Shape, misfit

if TYPE_CHECKING:
    from talops.kube.objects import Object

_OWNER = {"kind": str, "name": str}
_LIST_META = {"metadata?": {"continue?": str}}
META = {
    "name": str,
    "namespace?": str,
    "uid?": str,
    "labels?": {ANY: str},
    "annotations?": {ANY: str},
    "finalizers?": [str],
    "ownerReferences?": [_OWNER],
    "generation?": int,
    "deletionTimestamp?": str,
}
OBJECT = {
    "kind?": str,
    "apiVersion?": str,
    "metadata": META,
    "spec?": {},
    "status?": {"observedGeneration?": int},
}
PAGE = {"items?": [OBJECT], **_LIST_META}
DISCOVERY = {"resources": [{"name": str, "namespaced": bool, "kind": str}]}
VERSION = {"gitVersion": str}
EVENT = {"type": str, "object": {}}

CONDITION = {"type": str, "status": str, "reason?": str, "message?": str}
_CONDITIONS = {"conditions?": [CONDITION]}
_COUNTS = {
    f"{name}?": int
    for name in (
        "replicas",
        "updatedReplicas",
        "availableReplicas",
        "readyReplicas",
        "desiredNumberScheduled",
        "numberAvailable",
        "updatedNumberScheduled",
    )
}
_VOLUME = {"name": str, "persistentVolumeClaim?": {"claimName": str}}
_CONTAINER = {"name": str, "state?": {"waiting?": {"reason?": str}}}
_TAINT = {"key": str, "effect": str, "value?": str}
_CONDITIONED = {"status?": _CONDITIONS}
_REPLICATED = {"spec": {"replicas?": int}, "status?": {**_COUNTS, **_CONDITIONS}}
_IN_NAMESPACE = {"metadata": {"namespace": str}}

KINDS: dict[str, Shape] = {
    "Deployment": _REPLICATED,
    "StatefulSet": _REPLICATED,
    "DaemonSet": {"status?": {**_COUNTS, **_CONDITIONS}},
    "Job": _CONDITIONED,
    "Pod": {
        "metadata": {"namespace": str, "uid": str},
        "spec": {"nodeName?": str, "volumes?": [_VOLUME]},
        "status?": {"phase?": str, "containerStatuses?": [_CONTAINER], **_CONDITIONS},
    },
    "Namespace": {"status?": {"phase?": str}},
    "CustomResourceDefinition": _CONDITIONED,
    "Node": {
        "spec?": {"taints?": [_TAINT]},
        "status?": {
            "allocatable?": {ANY: TEXT},
            "nodeInfo?": {"kubeletVersion?": str},
            **_CONDITIONS,
        },
    },
    "APIService": _CONDITIONED,
    "GitRepository": {
        **_IN_NAMESPACE,
        "status?": {"artifact?": {"revision?": str}, **_CONDITIONS},
    },
    "Kustomization": {
        **_IN_NAMESPACE,
        "status?": {"lastAppliedRevision?": str, **_CONDITIONS},
    },
    "HelmRelease": {**_IN_NAMESPACE, **_CONDITIONED},
    "PersistentVolumeClaim": {**_IN_NAMESPACE, "spec?": {"volumeName?": str}},
    "VolumeAttachment": {
        "spec": {"nodeName?": str, "source?": {"persistentVolumeName?": str}},
    },
    "Secret": {"data?": {ANY: str}},
    "StorageClass": {"provisioner?": str},
    "Service": {"spec?": {"clusterIP?": str}},
}


def wrong_object(value: Object, kind: str = "") -> str | None:
    """What of an object is not as talops reads it; `kind` for items of a list, which omit it."""
    if wrong := misfit(value, OBJECT):
        return wrong
    own = KINDS.get(kind or value.get("kind", ""), {})
    return misfit(value, own if kind else {"kind": str, **own})
