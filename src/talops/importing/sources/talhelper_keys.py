"""The keys of talconfig.yaml, and how those of a role and of a node are combined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from talops.importing.sources.files import Parsed

CLUSTER = frozenset(
    {
        *("clusterName", "talosVersion", "kubernetesVersion", "endpoint", "domain", "nodes"),
        *("allowSchedulingOnMasters", "allowSchedulingOnControlPlanes", "patches", "cniConfig"),
        *("additionalMachineCertSans", "additionalApiServerCertSans", "inlineManifests"),
        *("clusterPodNets", "clusterSvcNets", "imageFactory", "controlPlane", "worker"),
    }
)
NODE_GROUP = frozenset(
    {
        *("nodeLabels", "nodeAnnotations", "nodeTaints", "machineDisks", "machineFiles"),
        *("disableSearchDomain", "kernelModules", "nameservers", "networkInterfaces"),
        *("extraManifests", "certSANs", "patches", "talosImageURL", "noSchematicValidate"),
        *("schematic", "imageSchematic", "machineSpec", "ingressFirewall", "filenameTmpl"),
        *("extensionServices", "volumes", "userVolumes"),
    }
)
NODE = NODE_GROUP | {
    *("hostname", "ipAddress", "controlPlane", "installDisk", "installDiskSelector"),
    *("ignoreHostname", "overridePatches", "overrideExtraManifests", "overrideMachineCertSANs"),
}
IMAGE_FACTORY = frozenset(
    {"registryURL", "schematicEndpoint", "protocol", "installerURLTmpl", "ISOURLTmpl"}
)
# Lists that grow instead of being replaced: the flag that prevents it, and whose part is first.
_GROWING = {
    "patches": ("overridePatches", True),
    "extraManifests": ("overrideExtraManifests", False),
    "certSANs": ("overrideMachineCertSANs", False),
}


def merged(node: dict[str, Any], group: dict[str, Any]) -> dict[str, Any]:
    """A key of the node wins over that of its role, if it is not empty."""
    found = {key: value for key, value in group.items() if key in NODE_GROUP}
    found |= {key: value for key, value in node.items() if value not in (None, "", [], {}, False)}
    for key, (flag, group_first) in _GROWING.items():
        ours, theirs = _listed(node.get(key)), _listed(group.get(key))
        if node.get(flag) or not theirs:
            found[key] = ours or theirs if node.get(flag) else ours
        else:
            found[key] = [*theirs, *ours] if group_first else [*ours, *theirs]
    return found


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def texts(data: dict[str, Any], key: str, config: Parsed) -> tuple[str, ...]:
    given = data.get(key)
    if given is None:
        return ()
    if not isinstance(given, list) or not all(isinstance(item, str) for item in given):
        raise config.error((key,), f"{key} is not a list of strings")
    return tuple(given)
