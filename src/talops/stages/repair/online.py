"""Of each layer's own stage, the changes that restart, replace and remove nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.site.node_facts import UPDATE
from talops.stages.addons import Addons
from talops.stages.apply_config import ApplyConfig
from talops.stages.gitops import GitOps
from talops.stages.provision import Provision
from talops.tofu.rules import Effect

if TYPE_CHECKING:
    from talops.delivery.objects import ObjectChange
    from talops.site import node_facts
    from talops.stages import addons, gitops, provision


class OnlineProvision(Provision):
    """Only layers in which no change restarts, replaces or removes anything."""

    def plan(self, facts: provision.Facts) -> list[provision.LayerChange]:
        gentle = {
            name
            for name, judged in facts.layers.items()
            if judged is not None and all(change.effect <= Effect.ONLINE for change in judged)
        }
        return [change for change in super().plan(facts) if change.layer in gentle]


class OnlineConfig(ApplyConfig):
    """Only configs that the node applies without a reboot."""

    def plan(self, facts: node_facts.Facts) -> list[node_facts.ConfigChange]:
        changes = super().plan(facts)
        return [c for c in changes if c.action == UPDATE and not c.reboots and not c.fixed]


class GentleAddons(Addons):
    """Only creates missing objects; never changes a running one."""

    def plan(self, facts: addons.Facts) -> list[ObjectChange]:
        return [change for change in super().plan(facts) if change.gentle]


class GentleGitOps(GitOps):
    """Only what is missing, and the keys and credentials of Flux."""

    def plan(self, facts: gitops.Facts) -> list[ObjectChange]:
        return [change for change in super().plan(facts) if change.gentle]
