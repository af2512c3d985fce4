"""The roll of a run: its options, and one roller for all of its stages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from talops.rolls.options import DEFAULT, RollOptions

if TYPE_CHECKING:
    from talops.rolls.roller import Roller
    from talops.site.site import Site


@dataclass(frozen=True)
class Rolling:
    """Stages that stop nodes share it, so that together they never stop more than one roll may."""

    site: Site
    options: RollOptions = DEFAULT

    @cached_property
    def roller(self) -> Roller:
        """Loaded when the first stage needs it: most runs stop no node."""
        from talops.rolls.kube_access import KubeAccess
        from talops.rolls.roller import Roller
        from talops.rolls.user_gates import user_gates

        secrets = self.site.secrets
        gates = user_gates(self.site, KubeAccess(self.site, secrets))
        return Roller(self.site, secrets, self.options, gates)
