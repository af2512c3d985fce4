"""One file per stage of a workflow; each observes, plans, applies and verifies.

The stages of `up` can be named here without loading them: a file is loaded when its class is first
used. `pipeline.later` defers that until OpenTofu is running.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from talops.stages.addons import Addons as Addons
    from talops.stages.apply_config import ApplyConfig as ApplyConfig
    from talops.stages.bootstrap import Bootstrap as Bootstrap
    from talops.stages.configure import Configure as Configure
    from talops.stages.gitops import GitOps as GitOps
    from talops.stages.images import Images as Images
    from talops.stages.kubeconfig import FetchKubeconfig as FetchKubeconfig
    from talops.stages.membership.nodes import Nodes as Nodes
    from talops.stages.membership.remove import Remove as Remove
    from talops.stages.membership.return_nodes import ReturnNodes as ReturnNodes
    from talops.stages.preflight import Preflight as Preflight
    from talops.stages.rolling.tuppr import Tuppr as Tuppr
    from talops.stages.storage import Storage as Storage
    from talops.stages.upgrade import Upgrade as Upgrade
    from talops.stages.verify import Verify as Verify
    from talops.stages.workers import Workers as Workers
else:
    _FILES = {
        "Addons": "addons",
        "ApplyConfig": "apply_config",
        "Bootstrap": "bootstrap",
        "Configure": "configure",
        "FetchKubeconfig": "kubeconfig",
        "GitOps": "gitops",
        "Images": "images",
        "Nodes": "membership.nodes",
        "Preflight": "preflight",
        "Remove": "membership.remove",
        "ReturnNodes": "membership.return_nodes",
        "Storage": "storage",
        "Tuppr": "rolling.tuppr",
        "Upgrade": "upgrade",
        "Verify": "verify",
        "Workers": "workers",
    }

    def __getattr__(name: str) -> object:
        if name not in _FILES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_FILES[name]}"), name)
