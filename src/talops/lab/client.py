"""Client of a running lab, for `lab status|stop|reset|fault`."""

from __future__ import annotations

import json
import os
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talops.errors import NotReadyError, TalopsError, UnreachableError, WaitTimeoutError
from talops.lab.world import is_running

if TYPE_CHECKING:
    from talops.lab.layout import Layout

# Used up by failures only: a busy machine is slow, and a lab that ended is noticed at once.
PATIENCE = 180.0
POLL = 0.05


@dataclass(frozen=True)
class LabClient:
    layout: Layout

    def details(self) -> dict[str, Any]:
        """The description that the running lab wrote when it started."""
        if not is_running(self.layout):
            raise NotReadyError(
                "no lab is running in this directory",
                where=str(self.layout.root),
                hint=f"talops lab start --detach --dir {self.layout.root}",
            )
        try:
            found: dict[str, Any] = json.loads(self.layout.running.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise NotReadyError("the lab is still starting", where=str(self.layout.root)) from None
        return found

    def call(self, method: str, path: str, body: Any | None = None) -> Any:
        import httpx

        control = self.details()["control"]
        headers = {"Authorization": f"Bearer {control['token']}"}
        try:
            response = httpx.request(
                method, f"{control['url']}{path}", json=body, headers=headers, timeout=PATIENCE
            )
        except httpx.HTTPError as error:
            raise UnreachableError(
                f"the lab does not answer: {error}",
                where=control["url"],
                hint=f"read {self.layout.log}",
            ) from error
        answer = response.json()
        if response.is_error:
            raise TalopsError(answer["what"], where=control["url"], hint=answer.get("hint"))
        return answer

    def stop(self) -> None:
        """Ask the lab to stop; if it does not answer, terminate its process."""
        pid = self.details()["pid"]
        try:
            self.call("POST", "/stop")
        except UnreachableError:
            os.kill(pid, signal.SIGKILL)  # it holds this directory's lock, so the pid is valid
        deadline = time.monotonic() + PATIENCE
        while is_running(self.layout):
            if time.monotonic() > deadline:
                raise WaitTimeoutError("the lab did not stop", where=f"pid {pid}")
            time.sleep(POLL)

    def wait_until_started(self, alive: Any) -> dict[str, Any]:
        """`alive()` returns None, or why the process ended."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return self.details()
            except NotReadyError:
                gone = alive()
                if gone or time.monotonic() > deadline:
                    raise TalopsError(
                        f"the lab did not start{': ' + gone if gone else ' in time'}",
                        where=str(self.layout.log),
                        hint="run it without --detach to see why",
                    ) from None
                time.sleep(POLL)
