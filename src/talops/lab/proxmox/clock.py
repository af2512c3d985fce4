"""The host's clock, which a fault can shift."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from talops.lab.faults import Faults


@dataclass(frozen=True)
class Clock:
    faults: Faults
    host: str

    def now(self) -> float:
        skew = self.faults.find("clock-skew", host=self.host)
        return time.time() + (skew.seconds if skew else 0.0)
