"""What a host has → what a new cluster should use of it, each value with its reason. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv4Interface, IPv4Network, NetmaskValueError
from typing import TYPE_CHECKING

from talops.app.proposing.graphics import graphics
from talops.app.proposing.placing import room, settle
from talops.errors import TalopsError
from talops.inventory.samples import Choice, Placement, Proposal
from talops.plural import count
from talops.proxmox.wanted import GIB

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from talops.app.proposing.look import Stock
    from talops.proxmox.facts import Host, Interface, Storage

BRIDGES = frozenset({"bridge", "OVSBridge"})
# Thin or copy-on-write block storages first: a disk of a node is only as large as its data.
BEST_DISKS = ("zfspool", "lvmthin", "rbd", "lvm", "btrfs", "dir")
DISKS, SMALLEST_DISK = (128, 64, 32), 20
BLOCK = 30
DEFAULT_NETWORK = IPv4Network("10.0.0.0/24")


@dataclass(frozen=True)
class Wish:
    """Numbers of nodes, as in `demo-cp-1`; `cidr` and `insecure` are the user's."""

    url: str
    controllers: int
    workers: int
    cidr: IPv4Network | None = None
    insecure: bool = False
    ca_file: str | None = None

    @property
    def numbers(self) -> list[int]:
        """What is added to a network and to a block of VMIDs."""
        first = [10 + i for i in range(1, self.controllers + 1)]
        return [*first, *(20 + i for i in range(1, self.workers + 1))]


def propose(stock: Stock, wish: Wish) -> tuple[IPv4Network, Proposal]:
    rooms = {host.name: room(host, stock.guests) for host in stock.hosts}
    main = max(stock.hosts, key=lambda host: rooms[host.name].free or 0).name
    bridge = _bridge(stock, main)
    iso, disk = _iso(stock, main), _disk(stock, main)
    hosts = _alike(stock, main, (iso.value, disk.value), bridge.value)
    sizes = settle({name: rooms[name] for name in hosts}, wish.controllers, wish.workers)
    network, why = _network(stock, bridge.value, main, wish)
    block = _block(stock, network, wish)
    free = next(s.free for s in _of(stock.storages, main) if s.name == disk.value) // GIB
    cards = graphics(stock)
    proposal = Proposal(
        url=Choice(wish.url, f"as {stock.who}"),
        insecure=wish.insecure,
        ca_file=wish.ca_file,
        node=Choice(main, rooms[main].words),
        iso_storage=iso,
        disk_storage=disk,
        bridge=bridge,
        network=why,
        gateway=_gateway(stock, bridge.value, main, network),
        cores=_cores([host for host in stock.hosts if host.name in hosts]),
        controller_memory=sizes.controller,
        worker_memory=sizes.worker,
        disk=_disk_size(free, len(wish.numbers), disk.value),
        placements=tuple(
            Placement(
                number,
                stock.vm_id_base + number,
                None if host == main else host,
                cards.offer(host) if number > 20 else (),  # noqa: PLR2004  (workers)
            )
            for number, host in zip(wish.numbers, sizes.hosts, strict=True)
        ),
        vm_ids=_vm_ids(stock, wish),
        block=block,
        notes=(*_spread(sizes.hosts[: wish.controllers]), *cards.notes, *_left_out(stock, hosts)),
    )
    return network, proposal


def _of(things: Sequence[Storage], host: str) -> list[Storage]:
    return [thing for thing in things if thing.host == host and thing.active]


def _iso(stock: Stock, host: str) -> Choice:
    here = _of(stock.storages, host)
    fit = sorted((s for s in here if "iso" in s.content), key=lambda s: -s.free)
    if fit:
        return Choice(fit[0].name, f"takes ISO images, {_gib(fit[0].free)} free{_others(fit[1:])}")
    files = [s for s in here if s.type in {"dir", "nfs", "cifs", "cephfs", "btrfs"}]
    if not files:
        raise _nothing(stock, host, "no storage that takes ISO images")
    return Choice(files[0].name, "takes no ISO images yet; talops host prepare enables them")


def _disk(stock: Stock, host: str) -> Choice:
    fit = sorted(
        (s for s in _of(stock.storages, host) if "images" in s.content),
        key=lambda s: (BEST_DISKS.index(s.type) if s.type in BEST_DISKS else 9, -s.free),
    )
    if not fit:
        raise _nothing(stock, host, "no storage for disks of VMs")
    best = fit[0]
    return Choice(best.name, f"{best.type}, {_gib(best.free)} free{_others(fit[1:])}")


def _others(rest: Iterable[Storage]) -> str:
    names = ", ".join(f"{s.name} ({s.type}, {_gib(s.free)})" for s in rest)
    return f"; also: {names}" if names else ""


def _nothing(stock: Stock, host: str, what: str) -> TalopsError:
    return TalopsError(
        f"{stock.who} sees {what} on {host}",
        where=f"host {host}",
        hint="add one in Proxmox, or log in as a user who sees it: --user root@pam",
    )


def _bridge(stock: Stock, host: str) -> Choice:
    here = [i for i in stock.interfaces if i.host == host and i.type in BRIDGES and i.active]
    if not here:
        raise _nothing(stock, host, "no active bridge")
    best = min(here, key=lambda i: (not i.gateway, not i.network, not i.vlan_aware, i.name))
    words = f"{host} has {best.network} on it" if best.network else "active"
    aware = "VLAN-aware" if best.vlan_aware else "not VLAN-aware: no VLAN tags for nodes"
    rest = ", ".join(i.name for i in here if i is not best)
    return Choice(best.name, f"{words}; {aware}{f'; also: {rest}' if rest else ''}")


def _interface(stock: Stock, bridge: str, host: str) -> Interface:
    return next(i for i in stock.interfaces if i.host == host and i.name == bridge)


def _network(stock: Stock, bridge: str, host: str, wish: Wish) -> tuple[IPv4Network, str]:
    if wish.cidr:
        return wish.cidr, "from --cidr"
    found = _cidr(_interface(stock, bridge, host).network)
    if found:
        return found.network, f"the network of {host} on {bridge}"
    return DEFAULT_NETWORK, f"{host} has no address on {bridge}: write the network of your nodes"


def _cidr(text: str) -> IPv4Interface | None:
    try:
        return IPv4Interface(text) if "/" in text else None
    except (AddressValueError, NetmaskValueError, ValueError):
        return None


def _gateway(stock: Stock, bridge: str, host: str, network: IPv4Network) -> Choice | None:
    """Only where it is not the first address, which talops assumes."""
    try:
        given = IPv4Address(_interface(stock, bridge, host).gateway)
    except AddressValueError:
        return None
    if given not in network or given == network.network_address + 1:
        return None
    return Choice(str(given), f"the gateway of {host}")


def _block(stock: Stock, network: IPv4Network, wish: Wish) -> int:
    """Added to each node address, so that Proxmox shows no guest with one of them."""
    used = {a for guest in stock.guests for a in guest.addresses}
    used |= {i.address for i in stock.interfaces} | {i.gateway for i in stock.interfaces}
    last = network.num_addresses - 2
    for block in range(0, last, BLOCK):
        numbers = [block + number for number in (10, *wish.numbers)]
        taken = any(str(network.network_address + n) in used for n in numbers)
        if max(numbers) <= last and not taken:
            return block
    raise TalopsError(
        f"{network} has no free block of addresses for {count(len(wish.numbers), 'node')}",
        where=f"host {stock.hosts[0].name}",
        hint="give a larger network: talops init --from-proxmox URL --cidr 10.0.0.0/24",
    )


def _alike(stock: Stock, main: str, storages: tuple[str, ...], bridge: str) -> list[str]:
    """Hosts that have what the main host has; a cluster uses one name everywhere."""
    return [
        host.name
        for host in stock.hosts
        if host.name == main
        or (
            {*storages} <= {s.name for s in _of(stock.storages, host.name)}
            and any(i.name == bridge and i.active for i in stock.interfaces if i.host == host.name)
        )
    ]


def _left_out(stock: Stock, hosts: Sequence[str]) -> list[str]:
    return [
        f"{host.name} is not used: it lacks the storages or the bridge above"
        for host in stock.hosts
        if host.name not in hosts
    ]


def _spread(hosts: Sequence[str]) -> list[str]:
    if len(hosts) > 1 and len({*hosts}) == 1:
        return [f"all control planes are on {hosts[0]}: if it fails, the cluster fails"]
    return []


def _cores(hosts: Sequence[Host]) -> Choice:
    least = min((host.cores for host in hosts if host.cores), default=4)
    named = ", ".join(f"{host.name} has {host.cores or 'an unknown number'}" for host in hosts)
    return Choice(str(min(4, least)), f"cores; {named}")


def _disk_size(free: int, nodes: int, storage: str) -> Choice:
    size = next((each for each in DISKS if each * nodes <= free), SMALLEST_DISK)
    need = f"{count(nodes, 'node')} need {size * nodes} GiB of {free} GiB free on {storage}"
    more = "; too small unless it is thin: fewer nodes or another storage"
    return Choice(str(size), need if size * nodes <= free else need + more)


def _vm_ids(stock: Stock, wish: Wish) -> str:
    used = [guest.vm_id for guest in stock.guests]
    ids = [stock.vm_id_base + number for number in wish.numbers]
    there = (
        f"{count(len(used), 'guest')} use {min(used)} to {max(used)}" if used else "none is used"
    )
    return f"VMIDs {min(ids)} to {max(ids)} are free on all hosts; {there}"


def _gib(size: int) -> str:
    return f"{size // GIB} GiB"
