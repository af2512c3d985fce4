"""What a resource and a data source of this provider are, and what their work is done with."""

from __future__ import annotations

from abc import ABC, abstractmethod
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


class Resource(ABC):
    """`legacy`: the type belongs to the older half of the real provider, with its looser rules."""

    name: ClassVar[str]
    block: ClassVar[Block]
    legacy: ClassVar[bool] = False

    def validate(self, _config: Values, /) -> list[str]:
        return []

    def adjust(self, plan: Plan, prior: Values | None, config: Values, /) -> None:  # noqa: B027
        """The last word on a plan, of which most kinds have none: replacements that depend on
        more than one attribute.
        """

    @abstractmethod
    async def create(self, call: Call, planned: Values) -> Values: ...

    @abstractmethod
    async def read(self, call: Call, state: Values) -> Values | None:
        """None: it is gone."""

    async def found(self, call: Call, state: Values) -> Values:
        """What was written, as it is now."""
        found = await self.read(call, state)
        if found is None:
            refuse(f"{self.name} {state['id']} is gone right after it was written")
        return found

    @abstractmethod
    async def update(self, call: Call, prior: Values, planned: Values, /) -> Values: ...

    @abstractmethod
    async def delete(self, call: Call, prior: Values) -> None: ...

    async def adopt(self, _call: Call, identity: str, /) -> Values:
        """The state to begin with for `tofu import`; a read follows."""
        return {"id": identity}


class DataSource(ABC):
    name: ClassVar[str]
    block: ClassVar[Block]

    @abstractmethod
    async def read(self, call: Call, config: Values) -> Values: ...


def refuse(summary: str, detail: str = "") -> NoReturn:
    raise FailedError(summary, detail)
