"""The tokens of plugins in the cluster: they work, have all that they need, and destroy nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.problems import Severity
from talops.proxmox.answers import LoginError
from talops.proxmox.check.problem import problem, unread
from talops.proxmox.client import Client
from talops.proxmox.plugins import CSI, plugins

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from talops.proxmox.check.problem import HostProblem
    from talops.proxmox.client import Access
    from talops.proxmox.facts import Held
    from talops.proxmox.needs import Need
    from talops.proxmox.plugins import Plugin
    from talops.proxmox.wanted import Wanted
    from talops.redaction import Secret

PREPARE = "talops host prepare --user root@pam"


async def plugin_problems(
    wanted: Wanted, credentials: Mapping[str, Secret], access: Callable[[str, Secret], Access]
) -> list[HostProblem]:
    """Each token is asked itself: no other may read what it may do."""
    found: list[HostProblem] = []
    for plugin in plugins(wanted):
        name, value = credentials.get(plugin.id_name), credentials.get(plugin.value_name)
        if not name or not value:
            found.append(missing_token(plugin))
            continue
        try:
            async with Client(access(name.reveal(), value)) as client:
                held = await client.get("access/permissions")
        except LoginError as error:
            what = f"Proxmox rejected the token of addons.{plugin.addon}: {error.what}"
            found.append(problem("plugin", what, f"{PREPARE} --new-token", name.reveal()))
        except TalopsError as error:
            found.append(unread(f"the rights of {name.reveal()}", error.what, error.hint))
        else:
            found += judge(plugin, name.reveal(), held)
    return found


def missing_token(plugin: Plugin) -> HostProblem:
    return problem(
        "plugin",
        f"addons.{plugin.addon} has no token of its own, and talops never stores its own token in "
        "a cluster",
        PREPARE,
        "cluster.yaml",
        Severity.WARNING,
    )


def judge(plugin: Plugin, who: str, held: Held) -> Iterator[HostProblem]:
    """`held`: path → privilege → whether it propagates, as the token itself sees it."""
    lacking = [n for n in plugin.needs if n.privilege not in held.get(n.path, {})]
    for path in dict.fromkeys(need.path for need in lacking):
        named = ", ".join(f"{n.privilege} ({n.why})" for n in lacking if n.path == path)
        yield problem("plugin", f"{who} lacks {named}", PREPARE, path)
    for path, privileges in sorted(held.items()):
        if more := sorted({*privileges} - _allowed(plugin, path)):
            yield problem(
                "plugin",
                f"{who} may do more than addons.{plugin.addon} needs: {', '.join(more)}; "
                "this token is stored in the cluster",
                f"remove the other access rules of {who.partition('!')[0]}",
                path,
                Severity.ERROR if any(name in DESTROYING for name in more) else Severity.WARNING,
            )
    if plugin.key == CSI and "/vms" in {need.path for need in plugin.needs}:
        yield problem(
            "plugin",
            f"{who} may attach and detach the disks of every VM, because the nodes are in no pool",
            "set pool in proxmox_vm_defaults, then: talops up, and talops host prepare",
            "/vms",
            Severity.WARNING,
        )


def _allowed(plugin: Plugin, path: str) -> set[str]:
    return {need.privilege for need in plugin.needs if _reaches(need, path)}


def _reaches(need: Need, path: str) -> bool:
    """Proxmox also lists the VMs of a pool, with what the pool grants."""
    if need.path.startswith("/pool/") and path.startswith("/vms/"):
        return True
    return need.path == path or (need.deep and path.startswith(f"{need.path.rstrip('/')}/"))


# With one of these, a reader of the cluster's Secret could destroy VMs or grant itself rights.
DESTROYING = frozenset(
    {
        *("VM.Allocate", "VM.PowerMgmt", "VM.Backup", "VM.Snapshot.Rollback", "VM.Migrate"),
        *("Pool.Allocate", "Sys.Modify", "Sys.PowerMgmt", "Permissions.Modify", "User.Modify"),
        *("Realm.Allocate", "Realm.AllocateUser", "Sys.Console", "VM.GuestAgent.Unrestricted"),
    }
)
