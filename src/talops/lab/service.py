"""What every part of the lab is: something that starts, stops and has addresses."""

from __future__ import annotations

from typing import Any, Protocol


class Service(Protocol):
    """One simulated system. All its state is under `Layout.state(name)`, so that a
    reset is stop, remove that folder, start.
    """

    name: str

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    def endpoints(self) -> dict[str, Any]:
        """What a user needs to talk to it, ready to be printed as JSON; valid once started."""
