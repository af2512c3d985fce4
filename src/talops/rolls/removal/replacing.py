"""Which Node was there when a replacement began: another one proves that it took place.

Kept until the run has ended, so that an interrupted replacement is finished and not repeated, also
by a colleague where the states are shared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.site.state.remembered import Remembered

if TYPE_CHECKING:
    from talops.site.site import ClosedSite


class Replacements:
    def __init__(self, site: ClosedSite) -> None:
        self._record = Remembered(
            site, "replacing", "replacements", "no replacement was interrupted"
        )

    async def begun(self, name: str) -> str | None:
        """The UID of its Node at that time, empty if it had none; None: not begun."""
        return (await self._record.read()).get(name)

    async def begin(self, name: str, uid: str) -> None:
        await self._record.write({**await self._record.read(), name: uid})

    async def ended(self, name: str) -> None:
        found = await self._record.read()
        if found.pop(name, None) is not None:
            await self._record.write(found)
