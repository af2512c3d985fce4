"""The privileges of Proxmox and its predefined roles."""

from __future__ import annotations

PRIVILEGES = frozenset(
    [
        "Datastore.Allocate",
        "Datastore.AllocateSpace",
        "Datastore.AllocateTemplate",
        "Datastore.Audit",
        "Group.Allocate",
        "Mapping.Audit",
        "Mapping.Modify",
        "Mapping.Use",
        "Permissions.Modify",
        "Pool.Allocate",
        "Pool.Audit",
        "Realm.Allocate",
        "Realm.AllocateUser",
        "SDN.Allocate",
        "SDN.Audit",
        "SDN.Use",
        "Sys.AccessNetwork",
        "Sys.Audit",
        "Sys.Console",
        "Sys.Incoming",
        "Sys.Modify",
        "Sys.PowerMgmt",
        "Sys.Syslog",
        "User.Modify",
        "VM.Allocate",
        "VM.Audit",
        "VM.Backup",
        "VM.Clone",
        "VM.Config.CDROM",
        "VM.Config.CPU",
        "VM.Config.Cloudinit",
        "VM.Config.Disk",
        "VM.Config.HWType",
        "VM.Config.Memory",
        "VM.Config.Network",
        "VM.Config.Options",
        "VM.Console",
        "VM.GuestAgent.Audit",
        "VM.GuestAgent.FileRead",
        "VM.GuestAgent.FileSystemMgmt",
        "VM.GuestAgent.FileWrite",
        "VM.GuestAgent.Unrestricted",
        "VM.Migrate",
        "VM.PowerMgmt",
        "VM.Replicate",
        "VM.Snapshot",
        "VM.Snapshot.Rollback",
    ]
)


def _starting(*prefixes: str) -> frozenset[str]:
    return frozenset(name for name in PRIVILEGES if name.startswith(prefixes))


VM_USER = frozenset(
    [
        "VM.Audit",
        "VM.Backup",
        "VM.Config.CDROM",
        "VM.Config.Cloudinit",
        "VM.Console",
        "VM.GuestAgent.Audit",
        "VM.GuestAgent.FileRead",
        "VM.GuestAgent.FileSystemMgmt",
        "VM.GuestAgent.FileWrite",
        "VM.PowerMgmt",
    ]
)

ROLES: dict[str, frozenset[str]] = {
    "Administrator": PRIVILEGES,
    "NoAccess": frozenset(),
    "PVEAdmin": PRIVILEGES
    - {"Permissions.Modify", "Realm.Allocate", "Mapping.Modify", "Sys.PowerMgmt", "Sys.Modify"}
    - {"Sys.AccessNetwork", "Sys.Incoming"},
    "PVEAuditor": frozenset(name for name in PRIVILEGES if name.endswith(".Audit")),
    "PVEDatastoreAdmin": _starting("Datastore."),
    "PVEDatastoreUser": frozenset({"Datastore.AllocateSpace", "Datastore.Audit"}),
    "PVEMappingAdmin": _starting("Mapping."),
    "PVEMappingUser": frozenset({"Mapping.Audit", "Mapping.Use"}),
    "PVEPoolAdmin": _starting("Pool."),
    "PVEPoolUser": frozenset({"Pool.Audit"}),
    "PVESDNAdmin": _starting("SDN."),
    "PVESDNUser": frozenset({"SDN.Audit", "SDN.Use"}),
    "PVESysAdmin": frozenset({"Sys.Audit", "Sys.Console", "Sys.Syslog"}),
    "PVETemplateUser": frozenset({"VM.Audit", "VM.Clone"}),
    "PVEUserAdmin": frozenset({"Group.Allocate", "Realm.AllocateUser", "User.Modify"}),
    "PVEVMAdmin": _starting("VM."),
    "PVEVMUser": VM_USER,
}
