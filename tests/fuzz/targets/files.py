"""Files of other programs: kubeconfig, talosconfig, encrypted files, states of OpenTofu."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.fuzz.mutations import damaged, scrambled

from talops.kube import kubeconfig, kubeconfig_file
from talops.secrets.metadata import recipients_of
from talops.talos import talosconfig
from talops.tofu.localstate import resource_count

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

PEM = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg=="
KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "demo",
    "clusters": [
        {
            "name": "demo",
            "cluster": {"server": "https://10.0.0.10:6443", "certificate-authority-data": PEM},
        }
    ],
    "users": [
        {
            "name": "admin@demo",
            "user": {"client-certificate-data": PEM, "client-key-data": PEM, "token": "x"},
        }
    ],
    "contexts": [{"name": "demo", "context": {"cluster": "demo", "user": "admin@demo"}}],
}
TALOSCONFIG = {
    "context": "demo",
    "contexts": {"demo": {"endpoints": ["10.0.0.10"], "ca": PEM, "crt": PEM, "key": PEM}},
}
SOPS = {
    "token": "ENC[AES256_GCM,data:x,iv:y,tag:z,type:str]",
    "sops": {
        "mac": "ENC[AES256_GCM,data:x]",
        "age": [{"recipient": "age1x", "enc": "-----BEGIN AGE ENCRYPTED FILE-----\n"}],
        "key_groups": [{"age": [{"recipient": "age1y"}]}],
    },
}
STATE = {
    "version": 4,
    "serial": 3,
    "lineage": "x",
    "resources": [{"mode": "managed", "type": "vm", "instances": [{"attributes": {"id": 5}}]}],
}


def read_kubeconfig(path: Path, text: str) -> Any:
    return kubeconfig.parse(text)


def read_entry(path: Path, text: str) -> Any:
    path.write_text(text, encoding="utf-8")
    return kubeconfig_file.entry(path, "demo")


def merge(path: Path, text: str) -> Any:
    path.write_text(json.dumps(KUBECONFIG), encoding="utf-8")
    merged = kubeconfig_file.merge(path, text, context="demo", server="https://x")
    path.write_text(text, encoding="utf-8")
    kubeconfig_file.without(path, "demo")
    return merged


def read_talosconfig(path: Path, text: str) -> Any:
    found = talosconfig.parse(text)
    return talosconfig.credentials_of(talosconfig.pick(found))


def count(path: Path, text: str) -> Any:
    path.write_text(text, encoding="utf-8")
    return resource_count(path)


READERS: dict[str, tuple[Any, Callable[[Path, str], Any]]] = {
    "kubeconfig": (KUBECONFIG, read_kubeconfig),
    "entry": (KUBECONFIG, read_entry),
    "merge": (KUBECONFIG, merge),
    "talosconfig": (TALOSCONFIG, read_talosconfig),
    "sops.yaml": (SOPS, lambda _, text: recipients_of(text, "x.sops.yaml")),
    "sops.json": (SOPS, lambda _, text: recipients_of(text, "x.sops.json")),
    "state": (STATE, count),
}


class Files:
    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="talops-fuzz-"))

    def close(self) -> None:
        shutil.rmtree(self._folder)

    def make(self, rng: random.Random) -> tuple[str, str]:
        name = rng.choice(list(READERS))
        document = READERS[name][0]
        text = json.dumps(damaged(rng, document)).encode()
        if rng.random() < 0.3:
            text = scrambled(rng, json.dumps(document, indent=1).encode())
        return name, text.decode(errors="replace")

    def run(self, case: tuple[str, str]) -> Iterator[object]:
        name, text = case
        return iter([READERS[name][1](self._folder / "file", text)])
