"""Records of restore drills: signed, kept with the backups."""

from __future__ import annotations

from datetime import datetime  # noqa: TC003  (pydantic reads it)
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from talops.backups.manifest import FORMAT, is_id
from talops.backups.signing import read_signed
from talops.backups.store import DRILL
from talops.errors import TalopsError

if TYPE_CHECKING:
    from talops.backups.signing import Signer
    from talops.backups.store import Store


class Drill(BaseModel):
    """One drill: which backup, and what differed after the restore."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    format: int = FORMAT
    id: str
    backup: str
    cluster: str
    at: datetime
    seconds: float
    objects: int
    kinds: int
    # Objects that the API server returned, and kinds that it does not know.
    served: int
    unserved: tuple[str, ...]
    differences: tuple[str, ...]
    versions: dict[str, str]

    @property
    def passed(self) -> bool:
        return not self.differences

    def as_dict(self) -> dict[str, Any]:
        return {**self.model_dump(mode="json"), "passed": self.passed}


async def save(store: Store, drill: Drill, signer: Signer) -> None:
    await store.write(drill.id + DRILL, signer.sign(drill.as_dict()).text().encode())


async def last_passed(store: Store, signer: Signer) -> Drill | None:
    """A record that this cluster's secrets did not sign proves nothing."""
    names = sorted((n for n in await store.sizes() if _is_drill(n)), reverse=True)
    for name in names:
        where = f"{store.place}/{name}"
        try:
            signed = read_signed(await store.read(name), where)
            signer.require(signed, where)
            drill = Drill.model_validate(signed.content)
        except (TalopsError, ValidationError):
            continue
        if drill.passed:
            return drill
    return None


def _is_drill(name: str) -> bool:
    return name.endswith(DRILL) and is_id(name.removesuffix(DRILL))
