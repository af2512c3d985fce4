"""A record next to shared states: a state without resources, with one output.

Every backend that keeps the states of the layers keeps it, too.
"""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

from talops.errors import DeniedError, TalopsError

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.statestore.backends.interface import StateBackend

SUFFIX = ".bootstrap"
OUTPUT = "bootstrapped_cluster"


def record_name(cluster: str) -> str:
    """A name that no layer's state can have."""
    return f"{cluster}{SUFFIX}"


class SharedRecord:
    """A text beside shared states. By default the fingerprint of the cluster that was bootstrapped;
    "" after it was destroyed.
    """

    def __init__(
        self,
        cluster: str,
        open_backend: Callable[[], StateBackend],
        *,
        name: str = "",
        output: str = OUTPUT,
    ) -> None:
        self._name = name or record_name(cluster)
        self._output = output
        self._open = open_backend

    async def read(self) -> str:
        return str(_output(await self._document(), self._output) or "")

    async def write(self, text: str) -> None:
        """Keep it as the next version of the record."""
        before = await self._document()
        if _output(before, self._output) == text:
            return
        after = _document(before, self._output, text)
        backend = self._open()
        try:
            await backend.write(self._name, json.dumps(after).encode())
        except DeniedError as error:
            raise self._denied(error) from error
        finally:
            await backend.close()

    async def _document(self) -> dict[str, Any]:
        """Empty if it was never written."""
        backend = self._open()
        try:
            found = await backend.read(self._name)
        except DeniedError as error:
            raise self._denied(error) from error
        finally:
            await backend.close()
        try:
            return dict(json.loads(found)) if found else {}
        except (ValueError, TypeError) as error:
            raise TalopsError(
                f"a shared record cannot be read: {error}",
                where=self._name,
                hint=f"talops state versions {self._name} lists earlier versions",
            ) from error

    def _denied(self, error: DeniedError) -> DeniedError:
        return DeniedError(
            error.what,
            where=error.where,
            hint=f"a run needs access to its record {self._name}: grant it with talops state user",
        )


def _output(document: dict[str, Any], name: str) -> Any:
    return (document.get("outputs") or {}).get(name, {}).get("value")


def _document(before: dict[str, Any], name: str, text: str) -> dict[str, Any]:
    return {
        "version": 4,
        "terraform_version": "1.9.0",
        "serial": int(before.get("serial", 0)) + 1,
        "lineage": before.get("lineage") or str(uuid.uuid4()),
        "outputs": {name: {"value": text, "type": "string"}},
        "resources": [],
    }
