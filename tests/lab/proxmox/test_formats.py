"""Formats of values, as the Perl functions named here check them.

Read in pve-common 9.2.1, pve-storage 9.1.7, qemu-server 9.2.6 and pve-ha-manager; 16,000 calls
with random values were then given to that code and to the lab.
"""

from __future__ import annotations

import pytest

from talops.lab.proxmox.errors import PveError
from talops.lab.proxmox.schema import api
from talops.lab.proxmox.schema.formats import check_format
from talops.lab.proxmox.schema.params import verify

BLOCKS = "Use a positive number (no leading zeros) with an optional 'k' or 'm' suffix."
POWER = "Must be a power of 2 between 512B and 16MiB (e.g., 4k, 8k, 16k, 64k, 1m)."
CREATE, STORAGE = "POST /nodes/{node}/qemu", "POST /storage"
TASKS, START = "GET /nodes/{node}/tasks", "POST /nodes/{node}/qemu/{vmid}/status/start"
HA = "POST /cluster/ha/resources"
# The call, its parameter, the value, the refusal.
WRONG = [
    # `PVE::QemuServer::pve_verify_cpuset, PVE::CpuSet::parse_cpuset`
    (CREATE, "affinity", "a", "unable to parse cpuset option\n"),
    (CREATE, "affinity", "3-1", "unable to parse cpuset option\n"),
    # `PVE::Storage::ZFSPoolPlugin::verify_zfs_blocksize`
    (STORAGE, "blocksize", "08k", f"invalid ZFS blocksize format '08k'. {BLOCKS}\n"),
    (STORAGE, "blocksize", "3k", f"value '3k' is not a valid ZFS blocksize. {POWER}\n"),
    (STORAGE, "blocksize", "32m", f"value '32m' is not a valid ZFS blocksize. {POWER}\n"),
    # `PVE::Storage::Plugin::verify_dir_override, verify_portal_dns`
    (STORAGE, "content-dirs", "iso", "invalid override 'iso'\n"),
    (STORAGE, "content-dirs", "cd=a", "invalid content type 'cd'\n"),
    (STORAGE, "content-dirs", "iso=../a", "invalid override 'iso=../a'\n"),
    (STORAGE, "portal", "a:b", "value does not look like a valid portal address\n"),
    # `PVE::JSONSchema::verify_task_status_type`
    (TASKS, "statusfilter", "ok,good", "invalid status 'good'\n"),
    # `PVE::JSONSchema::parse_idmap`
    (
        START,
        "targetstorage",
        "a b",
        "entry 'a' contains invalid ID - storage ID 'a' cannot be shorter than 2 characters\n\n\n",
    ),
    # `PVE::HA::Tools::pve_verify_ha_resource_or_vm_id`
    (HA, "sid", "VM:1", "value does not look like a valid ha resource id\n"),
    # `PVE::JSONSchema::pve_verify_address`: the name "0" is false in Perl
    (CREATE, "nameserver", "0", "value does not look like a valid address: 0\n"),
    # `PVE::JSONSchema::parse_property_string`: a value ends with its line
    (CREATE, "net0", "virtio,bridge=a\nb", "missing key in comma-separated list property\n"),
    # `PVE::QemuServer::CPUConfig, $tdx_fmt`
    (
        CREATE,
        "intel-tdx",
        "tdx",
        "format error\nintel-tdx.attestation: property is missing and it is not optional\n",
    ),
]
RIGHT = [
    (CREATE, "affinity", "0,5,8-11"),
    (CREATE, "affinity", ""),
    (STORAGE, "blocksize", "16K"),
    (STORAGE, "content-dirs", "iso=images/iso,vztmpl=a.b"),
    (STORAGE, "portal", "[fd00::1]:3260"),
    (STORAGE, "portal", "san.lab:3260"),
    (TASKS, "statusfilter", "OK,warning"),
    (START, "targetstorage", "1"),
    (START, "targetstorage", "local-lvm:tank"),
    (HA, "sid", "100"),
    (HA, "sid", "vm:100"),
]


def _errors(call: str, parameter: str, value: str) -> dict[str, str]:
    try:
        verify(api.method(call).properties, {parameter: value}, check_format)
    except PveError as error:
        return error.errors
    return {}


@pytest.mark.parametrize(("call", "parameter", "value", "problem"), WRONG)
def test_wrong_values(call: str, parameter: str, value: str, problem: str) -> None:
    """The text names what is wrong, with the empty lines that Proxmox leaves in it."""
    assert _errors(call, parameter, value)[parameter] == f"invalid format - {problem}"


@pytest.mark.parametrize(("call", "parameter", "value"), RIGHT)
def test_right_values(call: str, parameter: str, value: str) -> None:
    """What these functions accept."""
    assert parameter not in _errors(call, parameter, value)


@pytest.mark.parametrize("value", ["", "0"])
def test_an_empty_list_is_not_an_array(value: str) -> None:
    """`PVE::RESTHandler` makes a list of one value only if Perl reads it as true."""
    errors = _errors("POST /cluster/mapping/pci", "map", value)
    assert errors["map"] == "type check ('array') failed"
