"""Numbers in the texts of others: thousands of digits, or digits that only look like some."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from talops.answersize import limits
from talops.machineconfig.kubernetes_images import numbers
from talops.proxmox.accounts import token_end
from talops.proxmox.check.api import _version
from talops.proxmox.check.networks import passes
from talops.proxmox.mappings import _device
from talops.upgrades.breaking import _TAG
from talops.upgrades.kubernetes.reading import read_uses

if TYPE_CHECKING:
    from collections.abc import Callable

LONG = "9" * 5_000  # Python converts no more than 4,300 digits
ODD = "²"  # a digit for Unicode, and not a number
READERS: dict[str, Callable[[str], Any]] = {
    "version of Proxmox": lambda text: list(_version(text, "pve")),
    "VLANs of a bridge": lambda text: passes(f"{text} 2-{text}", 7),
    "group of a mapping": lambda text: _device(f"0000:01:00.0,iommugroup={text}"),
    "version of Kubernetes": lambda text: numbers(f"v1.{text}.0-rc.{text}"),
    "tag of etcd": lambda text: _TAG.search(f"etcd:v{text}.{text}.0"),
    "metrics": lambda text: read_uses(
        f'apiserver_requested_deprecated_apis{{removed_release="1.{text}"}} 1'
    ),
}


@pytest.mark.parametrize("text", [LONG, ODD, "", "x", "-1"], ids=["long", "odd", "none", "x", "-1"])
@pytest.mark.parametrize("name", READERS)
def test_no_text_is_a_traceback(name: str, text: str) -> None:
    """Read as far as it is a number."""
    READERS[name](text)


def test_ordinary_texts() -> None:
    """What the same readers are for."""
    assert list(_version("9.1-2", "pve")) == []
    assert passes("2-100 200", 7)
    assert not passes("2-100 200", 150)
    assert numbers("v1.36.0-rc.1") < numbers("v1.36.0") < numbers("v1.36.1")


async def test_a_length_of_thousands_of_digits() -> None:
    """An answer that announces it is too large, whatever it contains."""

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-length": LONG}, content=b"{}")

    transport = httpx.MockTransport(answer)
    async with httpx.AsyncClient(transport=transport, event_hooks=limits()) as client:
        with pytest.raises(httpx.HTTPError):
            await client.get("https://pve.example")


@pytest.mark.parametrize(("end", "year"), [(0, None), (2**63, None), (1_800_000_000, 2027)])
async def test_a_token_that_ends_beyond_the_calendar(end: int, year: int | None) -> None:
    """Proxmox accepts any number."""

    class Client:
        async def get(self, _: str) -> dict[str, int]:
            return {"expire": end}

    client: Any = Client()
    found = await token_end(client, "talops@pve", "talops")
    assert found == (datetime.fromtimestamp(end, UTC) if year else None)
