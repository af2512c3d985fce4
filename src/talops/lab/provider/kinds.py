"""What a resource and a data source of this provider are, and what their work is done with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NoReturn

from talops.errors import TalopsError

if TYPE_CHECKING:
    from talops.lab.provider.api import Api
    from talops.lab.provider.identifiers import Ids
    from talops.lab.provider.planning import Plan
    from talops.lab.provider.schema import Block
    from talops.lab.provider.values import Values


@dataclass(frozen=True)
class Remark:
    summary: str
    detail: str = ""


@dataclass
class Call:
    """One request of OpenTofu: the API to work with, and what there is to say about it.

    `saved` is what is true already should the rest of a creation fail: OpenTofu then keeps the
    resource in its state, marked as tainted, instead of losing it. `private` travels with the
    state, unseen by people.
    """

    api: Api
    ids: Ids
    warnings: list[Remark] = field(default_factory=list)
    saved: Values | None = None
    private: dict[str, int] = field(default_factory=dict)


class FailedError(TalopsError):
    """What OpenTofu shows as an error; `what` is the summary."""

    def __init__(self, summary: str, detail: str = "") -> None:
        super().__init__(summary)
        self.detail = detail


class Resource:
    """`legacy`: the type belongs to the older half of the real provider, with its looser rules."""

    name: ClassVar[str]
    block: ClassVar[Block]
    legacy: ClassVar[bool] = False

    def validate(self, _config: Values, /) -> list[str]:
        return []

    def adjust(self, plan: Plan, prior: Values | None, config: Values, /) -> None:
        """The last word on a plan: replacements that depend on more than one attribute."""

    async def create(self, call: Call, planned: Values) -> Values:
        raise NotImplementedError

    async def read(self, call: Call, state: Values) -> Values | None:
        """None: it is gone."""
        raise NotImplementedError

    async def update(self, call: Call, prior: Values, planned: Values, /) -> Values:
        raise NotImplementedError

    async def delete(self, call: Call, prior: Values) -> None:
        raise NotImplementedError

    async def adopt(self, _call: Call, identity: str, /) -> Values:
        """The state to begin with for `tofu import`; a read follows."""
        return {"id": identity}


class DataSource:
    name: ClassVar[str]
    block: ClassVar[Block]

    async def read(self, call: Call, config: Values) -> Values:
        raise NotImplementedError


def refuse(summary: str, detail: str = "") -> NoReturn:
    raise FailedError(summary, detail)
