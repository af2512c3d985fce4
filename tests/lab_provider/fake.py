"""Just enough of a Proxmox, in memory, for the provider's own tests to poke at."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, fields
from typing import Any

from tests.lab_provider.fake_guests import GIB, Guests, RefusalError, Task

PASSWORD = "correct horse"
TICKET = "PVE:root@pam:4EEC61E2::bGFi"
WORLD = {
    "vms", "where", "running", "pools", "files", "stores", "interfaces", "users", "roles", "groups",
    "acl", "tokens", "mappings",
}  # fmt: skip


@dataclass
class Fake(Guests):
    """`calls` is what was asked, in order; `failures` says what goes wrong at which call."""

    port: int = 0
    nodes: list[str] = field(default_factory=lambda: ["pve1", "pve2"])
    files: dict[str, int] = field(default_factory=dict)
    stores: dict[str, dict[str, Any]] = field(default_factory=dict)
    interfaces: dict[str, dict[str, Any]] = field(default_factory=dict)
    users: dict[str, dict[str, Any]] = field(default_factory=dict)
    roles: dict[str, list[str]] = field(default_factory=dict)
    groups: dict[str, dict[str, Any]] = field(default_factory=dict)
    acl: list[dict[str, Any]] = field(default_factory=list)
    tokens: dict[str, dict[str, Any]] = field(default_factory=dict)
    mappings: dict[str, dict[str, Any]] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    bodies: list[tuple[str, dict[str, str]]] = field(default_factory=list)
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
            return self.next_id(form.get("vmid"))
        if path == ["resources"]:
            return [self.resource(vmid) for vmid in sorted(self.vms)]
        if path[:2] == ["mapping", "pci"]:
            return self._mapping(method, path[2:], form)
        raise RefusalError(500, f"no such resource '{path[-1]}'")

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


def _kind(volid: str) -> str:
    return volid.partition(":")[2].partition("/")[0]


def _typed(form: Any) -> dict[str, Any]:
    flags = ("enable", "disable", "shared", "sparse", "privsep", "expire", "create-base-path",
             "create-subdirs", "mdev", "saferemove")  # fmt: skip
    return {k: int(v) if k in flags and v.isdigit() else v for k, v in form.items()}
