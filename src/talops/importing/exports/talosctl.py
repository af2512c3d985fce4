"""For talosctl: the whole config of each node, and the secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.machineconfig import yamltext

if TYPE_CHECKING:
    from talops.importing.exports.model import Exported


def files(exported: Exported) -> dict[str, str]:
    written = {f"{name}.yaml": yamltext.dump_all(d) for name, d in exported.configs.items()}
    return {**written, "secrets.yaml": exported.bundle.to_yaml()}
