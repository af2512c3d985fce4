"""The folders that Flux reads, in the common layout; every file is a starting point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.gitops import flux

if TYPE_CHECKING:
    from talops.inventory.model import Repository
    from talops.redaction import Secret

APPS, COMPONENT = "kubernetes/apps", "kubernetes/components/sops"

_RENOVATE = """\
// Renovate updates the versions in this repository: https://docs.renovatebot.com
{
  $schema: "https://docs.renovatebot.com/renovate-schema.json",
  extends: ["config:recommended"],
  flux: { managerFilePatterns: ["/^kubernetes/.+\\\\.ya?ml$/"] },
  kubernetes: { managerFilePatterns: ["/^kubernetes/.+\\\\.ya?ml$/"] },
  customManagers: [
    {
      // Lines below a comment such as: renovate: datasource=… depName=…
      customType: "regex",
      managerFilePatterns: ["/^kubernetes/.+\\\\.ya?ml$/", "/^cluster\\\\.ya?ml$/"],
      matchStrings: [
        '@comment@',
      ],
    },
  ],
}
"""
_COMMENT = (
    r"# renovate: datasource=(?<datasource>\\S+) depName=(?<depName>\\S+)"
    r"\\n\\s*version: (?<currentValue>\\S+)"
)
_CLUSTER = """\
# Flux starts here: talops points its first Kustomization at this folder.
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
  - apps.yaml
  - {canary}
"""
_CLUSTER_APPS = """\
# Everything below kubernetes/apps, with its secrets decrypted.
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: cluster-apps
  namespace: {namespace}
spec:
  interval: 1h
  path: ./{apps}
  prune: true
  sourceRef:
    kind: GitRepository
    name: {name}
  decryption:
    provider: sops
    secretRef:
      name: {key}
"""
_APPS = """\
# One folder per namespace.
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
  - ./hello
"""
_NAMESPACE_FOLDER = """\
# One namespace: its object, the secrets for all its applications, one line per application.
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: hello
resources:
  - namespace.yaml
  - ./hello
components:
  - ../../components/sops
"""
_NAMESPACE = """\
apiVersion: v1
kind: Namespace
metadata:
  name: hello
"""
_APP = """\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
  - deployment.yaml
"""
_DEPLOYMENT = """\
# An example: remove kubernetes/apps/hello when you add your own applications.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: hello
spec:
  replicas: 1
  selector:
    matchLabels:
      app: hello
  template:
    metadata:
      labels:
        app: hello
    spec:
      securityContext:
        runAsNonRoot: true
        runAsUser: 65534
        seccompProfile:
          type: RuntimeDefault
      containers:
        - name: hello
          # renovate: datasource=docker depName=registry.k8s.io/e2e-test-images/agnhost
          image: registry.k8s.io/e2e-test-images/agnhost:2.53
          args: [netexec, --http-port=8080]
          envFrom:
            - secretRef:
                name: cluster-secrets
          securityContext:
            allowPrivilegeEscalation: false
            capabilities:
              drop: [ALL]
"""
_COMPONENT = """\
# Secrets that many namespaces need: a namespace includes them with one line under components.
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
resources:
  - cluster-secrets.sops.yaml
"""
_SEALED = """\
apiVersion: v1
kind: Secret
metadata:
  name: {name}{place}
stringData:
  {key}: {value}
"""


@dataclass(frozen=True)
class File:
    """`sealed` files are encrypted by the rule of .sops.yaml before they are written."""

    path: str
    text: str
    sealed: bool = False

    def __repr__(self) -> str:
        return f"File({self.path})"


def skeleton(repository: Repository, canary: Secret) -> list[File]:
    """Every file; the caller writes only the missing ones."""
    place = f"\n  namespace: {flux.NAMESPACE}"
    sync = _CLUSTER_APPS.format(
        namespace=flux.NAMESPACE, name=flux.NAME, key=flux.KEY_SECRET, apps=APPS
    )
    proof = _SEALED.format(name=flux.CANARY, place=place, key="canary", value=canary.reveal())
    shared = _SEALED.format(name="cluster-secrets", place="", key="EXAMPLE", value="change-me")
    return [
        File("renovate.json5", _RENOVATE.replace("@comment@", _COMMENT)),
        File(f"{repository.path}/kustomization.yaml", _CLUSTER.format(canary=flux.CANARY_FILE)),
        File(f"{repository.path}/apps.yaml", sync),
        File(f"{repository.path}/{flux.CANARY_FILE}", proof, sealed=True),
        File(f"{COMPONENT}/kustomization.yaml", _COMPONENT),
        File(f"{COMPONENT}/cluster-secrets.sops.yaml", shared, sealed=True),
        File(f"{APPS}/kustomization.yaml", _APPS),
        File(f"{APPS}/hello/kustomization.yaml", _NAMESPACE_FOLDER),
        File(f"{APPS}/hello/namespace.yaml", _NAMESPACE),
        File(f"{APPS}/hello/hello/kustomization.yaml", _APP),
        File(f"{APPS}/hello/hello/deployment.yaml", _DEPLOYMENT),
    ]
