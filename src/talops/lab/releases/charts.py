"""Charts of the mirror, the same bytes at every start."""

from __future__ import annotations

import gzip
import io
import tarfile

VERSION = "0.0.1-lab"

_WORKLOAD = """\
apiVersion: apps/v1
kind: {kind}
metadata:
  name: {name}
  labels: {{app: {name}}}
spec:
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      {{{{- with .Values.runtimeClassName }}}}
      runtimeClassName: {{{{ . }}}}
      {{{{- end }}}}
      {{{{- with .Values.affinity }}}}
      affinity: {{{{ toJson . }}}}
      {{{{- end }}}}
      containers:
        - name: {name}
          image: "lab.example/{name}:{{{{ .Chart.Version }}}}"
          args: {{{{ toJson .Values.args }}}}
"""
_SETTINGS = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {name}-config
data:
  values: {{{{ toJson .Values | quote }}}}
"""
WORKLOADS = {
    "cilium": (("DaemonSet", "cilium"), ("Deployment", "cilium-operator")),
    "metrics-server": (("Deployment", "metrics-server"),),
    "gpu-operator": (("Deployment", "gpu-operator"),),
    "nvidia-device-plugin": (("DaemonSet", "nvidia-device-plugin"),),
}


def chart(name: str) -> bytes:
    files = {
        "Chart.yaml": f"apiVersion: v2\nname: {name}\nversion: {VERSION}\n",
        "values.yaml": "args: []\n",
        "templates/config.yaml": _SETTINGS.format(name=name),
    }
    for kind, workload in WORKLOADS[name]:
        files[f"templates/{workload}.yaml"] = _WORKLOAD.format(kind=kind, name=workload)
    return _packed(name, files)


def _packed(name: str, files: dict[str, str]) -> bytes:
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        for path, text in sorted(files.items()):
            entry = tarfile.TarInfo(f"{name}/{path}")
            entry.size, entry.mode = len(text), 0o644
            archive.addfile(entry, io.BytesIO(text.encode()))
    return gzip.compress(plain.getvalue(), mtime=0)
