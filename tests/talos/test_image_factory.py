"""Making schematics known to an Image Factory."""

from __future__ import annotations

import httpx
import pytest

from talops.errors import TalopsError, UnreachableError
from talops.talos.image_factory import register_schematic

URL = "https://factory.example/"


def factory(status: int, body: object) -> httpx.MockTransport:
    def answer(request: httpx.Request) -> httpx.Response:
        assert (request.method, str(request.url)) == ("POST", "https://factory.example/schematics")
        assert request.content == b"customization: {}\n"
        return httpx.Response(status, json=body)

    return httpx.MockTransport(answer)


@pytest.mark.parametrize("status", [200, 201])
async def test_id_comes_back(status: int) -> None:
    """New or known: the factory answers with the id."""
    transport = factory(status, {"id": "abc", "schematic": "customization: {}\n"})
    assert await register_schematic(URL, "customization: {}\n", transport=transport) == "abc"


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (400, {"error": "unknown field"}, "refused the schematic .400.: .*unknown field"),
        (200, {"ok": True}, "not an Image Factory"),
        (200, ["id"], "not an Image Factory"),
    ],
)
async def test_refusals_are_told(status: int, body: object, message: str) -> None:
    """What the factory says, or that it is not a factory, reaches the user."""
    with pytest.raises(TalopsError, match=message) as caught:
        await register_schematic(URL, "customization: {}\n", transport=factory(status, body))
    assert caught.value.where == "https://factory.example/schematics"


async def test_no_answer_is_unreachable() -> None:
    """No answer is not the same as a refusal."""

    def fail(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    with pytest.raises(UnreachableError):
        await register_schematic(URL, "x", transport=httpx.MockTransport(fail))
