"""Just enough of a Proxmox, in memory, for the provider's own tests to poke at."""

from __future__ import annotations

import asyncio
import copy
import json
import re
import ssl
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from aiohttp import web
from multidict import MultiDict

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOKEN = "lab@pve!test=00000000-0000-0000-0000-000000000000"
PASSWORD = "correct horse"
TICKET = "PVE:root@pam:4EEC61E2::bGFi"
GIB = 1 << 30
DRIVE = re.compile(r"(ide|sata|scsi|virtio|efidisk|tpmstate)\d+")
NUMBERS = (
    "cores",
    "sockets",
    "vcpus",
    "cpuunits",
    "onboot",
    "numa",
    "acpi",
    "tablet",
    "protection",
)


WORLD = {
    "vms", "where", "running", "pools", "files", "stores", "interfaces", "users", "roles", "groups",
    "acl", "tokens", "mappings",
}  # fmt: skip


class RefusalError(Exception):
    def __init__(self, status: int, reason: str, errors: dict[str, str] | None = None) -> None:
        super().__init__(reason)
        self.status, self.reason, self.errors = status, reason, errors


@dataclass
class Task:
    exit: str = "OK"
    log: list[str] = field(default_factory=list)


@dataclass
class Fake:
    """`calls` is what was asked, in order; `failures` says what goes wrong at which call."""

    port: int = 0
    nodes: list[str] = field(default_factory=lambda: ["pve1", "pve2"])
    vms: dict[int, dict[str, Any]] = field(default_factory=dict)
    where: dict[int, str] = field(default_factory=dict)
    running: set[int] = field(default_factory=set)
    pools: dict[str, dict[str, Any]] = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)
    stores: dict[str, dict[str, Any]] = field(default_factory=dict)
    interfaces: dict[str, dict[str, Any]] = field(default_factory=dict)
    users: dict[str, dict[str, Any]] = field(default_factory=dict)
    roles: dict[str, list[str]] = field(default_factory=dict)
    groups: dict[str, dict[str, Any]] = field(default_factory=dict)
    acl: list[dict[str, Any]] = field(default_factory=list)
    tokens: dict[str, dict[str, Any]] = field(default_factory=dict)
    mappings: dict[str, dict[str, Any]] = field(default_factory=dict)
    tasks: dict[str, Task] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    bodies: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    agents: bool = True
    failures: dict[str, list[RefusalError | Task]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def snapshot(self) -> dict[str, Any]:
        """All that a Proxmox knows, apart from where it listens and what it was asked."""
        return {
            f.name: copy.deepcopy(getattr(self, f.name)) for f in fields(self) if f.name in WORLD
        }

    def restore(self, world: dict[str, Any]) -> None:
        for name, value in world.items():
            setattr(self, name, copy.deepcopy(value))

    def forget(self) -> None:
        self.calls.clear()
        self.bodies.clear()

    def changes(self) -> list[str]:
        return [call for call in self.calls if not call.startswith("GET ")]

    def task(self, node: str, kind: str, subject: object) -> str:
        number = len(self.tasks) + 1
        upid = f"UPID:{node}:{number:08X}:{number:08X}:{number:08X}:{kind}:{subject}:lab@pve!test:"
        self.tasks.setdefault(upid, Task())
        return upid

    def fail(self, call: str, *what: RefusalError | Task) -> None:
        self.failures.setdefault(call, []).extend(what)

    def answer(self, method: str, path: list[str], form: Any) -> Any:
        handler = getattr(self, f"at_{path[0]}", None)
        if handler is None:
            raise RefusalError(501, f"Method '{method} /{'/'.join(path)}' not implemented")
        return handler(method, path[1:], form)

    def at_version(self, *_: Any) -> Any:
        return {"version": "9.1.1", "release": "9.1", "repoid": "abcdef"}

    def at_cluster(self, method: str, path: list[str], form: Any) -> Any:
        if path == ["nextid"]:
            return self._next_id(form.get("vmid"))
        if path == ["resources"]:
            return [self._resource(vmid) for vmid in sorted(self.vms)]
        if path[:2] == ["mapping", "pci"]:
            return self._mapping(method, path[2:], form)
        raise RefusalError(500, f"no such resource '{path[-1]}'")

    def _next_id(self, wanted: str | None) -> str:
        if wanted is not None and int(wanted) in self.vms:
            text = f"VM {wanted} already exists"
            raise RefusalError(400, "Parameter verification failed.", {"vmid": text})
        if wanted is not None:
            return wanted
        return str(next(i for i in range(100, 1000) if i not in self.vms))

    def _resource(self, vmid: int) -> dict[str, Any]:
        config = self.vms[vmid]
        return {
            "type": "qemu",
            "id": f"qemu/{vmid}",
            "vmid": vmid,
            "node": self.where[vmid],
            "name": config.get("name", ""),
            "status": "running" if vmid in self.running else "stopped",
            "template": int(config.get("template", 0)),
            "tags": config.get("tags", ""),
        }

    def _mapping(self, method: str, path: list[str], form: Any) -> Any:
        return self._crud(self.mappings, "id", method, path, form, lists=("map",))

    def at_pools(self, method: str, path: list[str], form: Any) -> Any:
        if method == "GET":
            wanted = form.get("poolid")
            return [self._pool(name) for name in self.pools if wanted in (None, name)]
        name = path[0] if path else form["poolid"]
        pool = self.pools.setdefault(name, {"members": set()})
        vms = {int(v) for v in form.get("vms", "").split(",") if v}
        if method == "DELETE":
            del self.pools[name]
        elif form.get("delete"):
            pool["members"] -= vms
        else:
            pool["members"] |= vms
            pool["comment"] = form.get("comment", pool.get("comment", ""))
        return None

    def _pool(self, name: str) -> dict[str, Any]:
        members = [
            {"id": f"qemu/{v}", "node": self.where[v], "type": "qemu", "vmid": v}
            for v in sorted(self.pools[name]["members"])
        ]
        return {"poolid": name, "comment": self.pools[name].get("comment"), "members": members}

    def at_storage(self, method: str, path: list[str], form: Any) -> Any:
        found = self._crud(self.stores, "storage", method, path, form)
        if method == "POST":
            return {"storage": form["storage"], "type": form["type"]}
        if method == "GET" and path and found.get("type") == "dir":
            usual = {"shared": 0, "create-base-path": 1, "create-subdirs": 1}
            return usual | found
        return found

    def at_access(self, method: str, path: list[str], form: Any) -> Any:
        kind, rest = path[0], path[1:]
        if kind == "acl":
            return self._acl(method, form)
        if kind == "roles":
            return self._roles(method, rest, form)
        if kind == "users" and rest[1:2] == ["token"]:
            return self._token(method, rest[0], rest[2], form)
        if kind == "users":
            found = self._crud(self.users, "userid", method, rest, form)
            groups = found.get("groups", "") if method == "GET" and rest else ""
            return found | {"groups": groups.split(",")} if groups else found
        if kind == "groups":
            return self._crud(self.groups, "groupid", method, rest, form)
        if kind == "ticket":
            if form["password"] != PASSWORD:
                raise RefusalError(401, "authentication failure")
            return {"username": form["username"], "ticket": TICKET, "CSRFPreventionToken": "C"}
        raise RefusalError(501, f"not implemented: {path}")

    def _acl(self, method: str, form: Any) -> Any:
        if method == "GET":
            return self.acl
        for kind in ("user", "token", "group"):
            for who in filter(None, form.get(f"{kind}s", "").split(",")):
                entry = {
                    "path": form["path"],
                    "roleid": form["roles"],
                    "type": kind,
                    "ugid": who,
                    "propagate": int(form.get("propagate", 1)),
                }
                same = ("path", "roleid", "type", "ugid")
                self.acl = [e for e in self.acl if any(e[k] != entry[k] for k in same)]
                if not form.get("delete"):
                    self.acl.append(entry)
        return None

    def _roles(self, method: str, rest: list[str], form: Any) -> Any:
        if method == "GET":
            if not rest:
                return [{"roleid": k, "privs": ",".join(v)} for k, v in self.roles.items()]
            if rest[0] not in self.roles:
                raise RefusalError(500, f"role '{rest[0]}' does not exist")
            return dict.fromkeys(self.roles[rest[0]], 1)
        if method == "DELETE":
            del self.roles[rest[0]]
        else:
            name = rest[0] if rest else form["roleid"]
            self.roles[name] = [p for p in form.get("privs", "").split(",") if p]
        return None

    def _token(self, method: str, user: str, name: str, form: Any) -> Any:
        full = f"{user}!{name}"
        if method == "POST":
            self.tokens[full] = _typed(form)
            return {"full-tokenid": full, "info": {}, "value": "secret-of-" + name}
        if full not in self.tokens:
            raise RefusalError(500, f"no such token '{name}' for user '{user}': does not exist")
        if method == "DELETE":
            del self.tokens[full]
        elif method == "PUT":
            self.tokens[full] |= _typed(form)
        return self.tokens.get(full)

    def _crud(
        self, table: Any, key: str, method: str, path: list[str], form: Any, lists: Any = ()
    ) -> Any:
        if method == "GET" and not path:
            return [{key: name, **value} for name, value in table.items()]
        name = path[0] if path else form[key]
        if method != "POST" and name not in table:
            raise RefusalError(500, f"{key} '{name}' does not exist")
        if method == "POST" and name in table:
            raise RefusalError(500, f"{key} '{name}' already exists")
        if method == "GET":
            return {key: name, **table[name]}
        if method == "DELETE":
            del table[name]
            return None
        entry = table.setdefault(name, {})
        for gone in form.pop("delete", "").split(","):
            entry.pop(gone, None)
        entry |= {k: v for k, v in _typed(form).items() if k not in (key, "password", "digest")}
        for many in lists:
            entry[many] = form.getall(many, []) if hasattr(form, "getall") else entry.get(many)
        return None

    def at_nodes(self, method: str, path: list[str], form: Any) -> Any:
        if not path:
            return [self._node(name) for name in self.nodes]
        node, rest = path[0], path[1:]
        if node not in self.nodes:
            raise RefusalError(596, f"hostname lookup '{node}' failed")
        handler = getattr(self, f"node_{rest[0].replace('-', '_')}", None)
        if handler is None:
            raise RefusalError(501, f"not implemented: {rest}")
        return handler(method, node, rest[1:], form)

    def _node(self, name: str) -> dict[str, Any]:
        return {
            "node": name, "status": "online", "cpu": 0.1, "maxcpu": 8, "mem": GIB, "level": "",
            "maxmem": 64 * GIB, "uptime": 1000, "ssl_fingerprint": "AA:BB", "id": f"node/{name}",
            "type": "node", "disk": 1, "maxdisk": 2,
        }  # fmt: skip

    def node_hardware(self, *_: Any) -> Any:
        known = {"vendor": "0x10de", "device": "0x2204", "iommugroup": 14}
        return [
            {"id": "0000:00:1f.0", "class": "0x060100", **known},
            {"id": "0000:01:00.0", "class": "0x030000", **known},
        ]

    def node_status(self, *_: Any) -> Any:
        return {
            "cpu": 0.1,
            "uptime": 1000,
            "cpuinfo": {"cores": 4, "cpus": 8, "sockets": 1, "model": "Lab CPU"},
            "memory": {"free": 63 * GIB, "total": 64 * GIB, "used": GIB},
        }

    def node_tasks(self, _: str, __: str, path: list[str], ___: Any) -> Any:
        task = self.tasks[path[0]]
        if path[1] == "log":
            return [{"n": i + 1, "t": text} for i, text in enumerate(task.log)]
        return {"status": "stopped", "exitstatus": task.exit, "upid": path[0]}

    def node_query_url_metadata(self, _: str, __: str, ___: Any, form: Any) -> Any:
        return {"filename": form["url"].rsplit("/", 1)[-1], "mimetype": "x", "size": 4096}

    def node_network(self, method: str, node: str, path: list[str], form: Any) -> Any:
        if method == "PUT" and not path:
            return self.task(node, "srvreload", "networking")
        if method == "GET" and not path:
            return [
                {"iface": k, "priority": i, **v} for i, (k, v) in enumerate(self.interfaces.items())
            ]
        name = path[0] if path else form["iface"]
        if method == "DELETE":
            del self.interfaces[name]
            return None
        entry = {k: v for k, v in form.items() if k not in ("iface", "delete")}
        for flag in ("autostart", "bridge_vlan_aware", "active"):
            if flag in entry:
                entry[flag] = int(entry[flag])
        if entry.get("type") == "vlan" and "." in name:
            raw, _, tag = name.partition(".")
            entry |= {"vlan-raw-device": raw, "vlan-id": tag}
        self.interfaces[name] = entry
        return None

    def node_storage(self, method: str, node: str, path: list[str], form: Any) -> Any:
        if not path:
            return [self._store(name) for name in ("local", "local-lvm")]
        if path[1] == "status":
            return self._store(path[0])
        if path[1] == "download-url":
            volid = f"{path[0]}:{form['content']}/{form['filename']}"
            if volid in self.files:
                raise RefusalError(500, f"refusing to override existing file '{volid}'")
            self.files[volid] = 4096
            return self.task(node, "download", form["filename"])
        return self._content(method, node, path, form)

    def _content(self, method: str, node: str, path: list[str], form: Any) -> Any:
        if len(path) == 2:
            wanted = form.get("content")
            return [
                {"volid": v, "content": _kind(v), "format": v.rsplit(".", 1)[-1], "size": s}
                for v, s in self.files.items()
                if v.startswith(f"{path[0]}:") and wanted in (None, _kind(v))
            ]
        volid = path[2]
        if method == "DELETE":
            self.files.pop(volid)
            return self.task(node, "imgdel", volid)
        if "/" in volid.partition(":")[2] and volid not in self.files:
            raise RefusalError(500, f"volume '{volid}' does not exist")
        return {"path": f"/x/{volid}", "format": "raw", "size": self.files.get(volid, 0), "used": 0}

    def _store(self, name: str) -> dict[str, Any]:
        return {
            "storage": name, "type": "dir" if name == "local" else "lvmthin", "active": 1,
            "enabled": 1, "shared": 0, "content": "iso,import" if name == "local" else "images",
            "avail": 9 * GIB, "total": 10 * GIB, "used": GIB, "used_fraction": 0.1,
        }  # fmt: skip

    def node_qemu(self, method: str, node: str, path: list[str], form: Any) -> Any:
        path = [part for part in path if part]
        if not path:
            return self._list(node) if method == "GET" else self._create(node, form)
        vmid = int(path[0])
        if self.where.get(vmid) != node:
            text = f"Configuration file 'nodes/{node}/qemu-server/{vmid}.conf' does not exist"
            raise RefusalError(500, text)
        if method == "DELETE":
            self._destroy(vmid)
            return self.task(node, "qmdestroy", vmid)
        return self._vm(method, node, vmid, path[1:], form)

    def _list(self, node: str) -> Any:
        found = [self._resource(v) for v in sorted(self.vms) if self.where[v] == node]
        for item in found:
            if not item["template"]:
                del item["template"]
        return found

    def _create(self, node: str, form: Any) -> str:
        vmid = int(form.pop("vmid"))
        if vmid in self.vms:
            raise RefusalError(500, f"unable to create VM {vmid}: VM {vmid} already exists on node")
        pool = form.pop("pool", None)
        self.vms[vmid], self.where[vmid] = {"digest": "0", "smbios1": "uuid=1"}, node
        self._apply(vmid, form)
        if pool:
            self.pools[pool]["members"].add(vmid)
        return self.task(node, "qmcreate", vmid)

    def _destroy(self, vmid: int) -> None:
        del self.vms[vmid], self.where[vmid]
        for pool in self.pools.values():
            pool["members"].discard(vmid)

    def _vm(  # noqa: C901  (one branch per call)
        self, method: str, node: str, vmid: int, path: list[str], form: Any
    ) -> Any:
        config, what = self.vms[vmid], "/".join(path)
        if what == "config":
            return {**config} if method == "GET" else self._apply(vmid, form)
        if what == "status/current":
            return {"status": "running" if vmid in self.running else "stopped", "vmid": vmid}
        if path[0] == "agent":
            return self._agent(vmid, path[1])
        if what == "status/start":
            self.running.add(vmid)
        elif what in ("status/stop", "status/shutdown"):
            self.running.discard(vmid)
        elif what == "template":
            config["template"] = 1
        elif what == "resize":
            drive = config[form["disk"]].split(",")
            kept = [part for part in drive if not part.startswith("size=")]
            config[form["disk"]] = ",".join([*kept, f"size={int(form['size']) // GIB}G"])
        elif what == "clone":
            self._clone(node, vmid, form)
        elif what == "migrate":
            self.where[vmid] = form["target"]
        elif what == "move_disk":
            config[form["disk"]] = form["storage"] + ":" + config[form["disk"]].partition(":")[2]
        elif what == "cloudinit":
            return None
        else:
            raise RefusalError(501, f"not implemented: {what}")
        return self.task(node, f"qm{path[-1]}", vmid)

    def _agent(self, vmid: int, question: str) -> Any:
        if vmid not in self.running or not self.agents:
            raise RefusalError(500, "QEMU guest agent is not running")
        if question == "ping":
            return {"result": {}}
        address = {"ip-address": f"10.0.0.{vmid % 256}", "ip-address-type": "ipv4", "prefix": 24}
        mac = self.vms[vmid]["net0"].split(",")[0].partition("=")[2]
        nic = {"name": "eth0", "hardware-address": mac.lower(), "ip-addresses": [address]}
        local = {"ip-address": "127.0.0.1", "ip-address-type": "ipv4", "prefix": 8}
        none = "00:00:00:00:00:00"
        loopback = {"name": "lo", "hardware-address": none, "ip-addresses": [local]}
        return {"result": [loopback, nic]}

    def _clone(self, node: str, source: int, form: Any) -> None:
        vmid = int(form["newid"])
        self.vms[vmid] = {
            k: v.replace(f"-{source}-", f"-{vmid}-") if isinstance(v, str) else v
            for k, v in self.vms[source].items()
            if k != "template"
        }
        self.where[vmid] = form.get("target", node)
        self.vms[vmid] |= {k: form[k] for k in ("name", "description") if k in form}

    def _apply(self, vmid: int, form: Any) -> None:
        config = self.vms[vmid]
        for key in form.get("delete", "").split(","):
            config.pop(key, None)
        for key, value in form.items():
            if key == "delete" or (key == "template" and value == "0"):
                continue
            if DRIVE.fullmatch(key):
                config[key] = self._drive(vmid, key, value)
            elif re.fullmatch(r"net\d+", key):
                config[key] = _nic(vmid, value)
            elif value == "":
                config.pop(key, None)
            else:
                config[key] = int(value) if key in NUMBERS else value

    def _drive(self, vmid: int, key: str, text: str) -> str:
        parts = [part.partition("=") for part in text.split(",") if part]
        told = {name: value for name, _, value in parts}
        volume = told.pop("file")
        told.pop("format", None), told.pop("size", None)
        source = told.pop("import-from", None)
        store, _, rest = volume.partition(":")
        if rest == "cloudinit":
            return f"{store}:vm-{vmid}-cloudinit,media=cdrom"
        if rest.isdigit():
            number = sum(f"vm-{vmid}-disk-" in str(v) for v in self.vms[vmid].values())
            volume = f"{store}:vm-{vmid}-disk-{number}"
            size = "2G" if source else f"{rest}G"
            told["size"] = {"efidisk0": "4M", "tpmstate0": "4M"}.get(key, size)
        elif told.get("media") != "cdrom" and key in self.vms[vmid]:
            before = self.vms[vmid][key].split(",")
            told |= dict(p.split("=", 1) for p in before if p.startswith("size="))
        return ",".join([volume, *(f"{k}={told[k]}" for k in sorted(told))])


def _kind(volid: str) -> str:
    return volid.partition(":")[2].partition("/")[0]


def _typed(form: Any) -> dict[str, Any]:
    flags = ("enable", "disable", "shared", "sparse", "privsep", "expire", "create-base-path",
             "create-subdirs", "mdev", "saferemove")  # fmt: skip
    return {k: int(v) if k in flags and v.isdigit() else v for k, v in form.items()}


def _nic(vmid: int, text: str) -> str:
    told = dict(part.split("=", 1) for part in text.split(","))
    model = told.pop("model")
    mac = told.pop("macaddr", f"BC:24:11:00:00:{vmid % 256:02X}")
    return ",".join([f"{model}={mac}", *(f"{k}={told[k]}" for k in sorted(told))])


FAKE = web.AppKey("fake", Fake)


async def _handle(request: web.Request) -> web.Response:
    fake: Fake = request.app[FAKE]
    path = [unquote(part) for part in request.raw_path.partition("?")[0].split("/")[3:]]
    form = await request.post() if request.method in ("POST", "PUT") else request.query
    call = f"{request.method} /{'/'.join(path)}"
    fake.calls.append(call)
    plain: Any = MultiDict(form)
    if request.method in ("POST", "PUT"):
        plain.update(request.query)
    fake.bodies.append((call, {k: str(v) for k, v in plain.items()}))
    try:
        _check_token(request)
        data = _answer(fake, call, request.method, path, plain)
    except RefusalError as no:
        body = {"data": None, "message": f"{no.reason}\n"} | (
            {"errors": no.errors} if no.errors else {}
        )
        return web.Response(status=no.status, reason=no.reason, text=json.dumps(body))
    return web.json_response({"data": data})


def _check_token(request: web.Request) -> None:
    """A token, or the ticket and for changes its second half too."""
    if request.path.endswith("/access/ticket"):
        return
    token = request.headers.get("Authorization") == f"PVEAPIToken={TOKEN}"
    ticket = request.headers.get("Cookie") == f"PVEAuthCookie={TICKET}"
    safe = request.method == "GET" or request.headers.get("CSRFPreventionToken") == "C"
    if not token and not (ticket and safe):
        raise RefusalError(401, "authentication failure")


def _answer(fake: Fake, call: str, method: str, path: list[str], form: Any) -> Any:
    planned = next((v for k, v in fake.failures.items() if call.endswith(k) and v), None)
    failure = planned.pop(0) if planned else None
    if isinstance(failure, RefusalError):
        raise failure
    data = fake.answer(method, path, form)
    if failure is not None:
        fake.tasks[data] = failure
    return data


@contextmanager
def running(certificate: Path) -> Iterator[Fake]:
    """Served from a thread of its own, on a free port."""
    fake, loop, ready = Fake(), asyncio.new_event_loop(), threading.Event()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(certificate)
    stop = asyncio.Event()

    async def serve() -> None:
        app = web.Application()
        app[FAKE] = fake
        app.router.add_route("*", "/{tail:.*}", _handle)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        fake.port = runner.addresses[0][1]
        ready.set()
        await stop.wait()
        await runner.cleanup()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield fake
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()
