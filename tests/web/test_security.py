"""What a page of another site in the same browser can do here: nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.web.scripted import Script, healthy, visiting

if TYPE_CHECKING:
    from pathlib import Path

    from tests.examples import Example

from datetime import UTC, datetime

NAVIGATE = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
PATHS = ("/", "/c/ha/", "/c/ha/topology", "/api/v1/sites/ha/overview", "/healthz", "/none")


def script(example: Example, root: Path) -> Script:
    cluster = example("ha")
    return Script(cluster, root, healthy(cluster, datetime.now(UTC)))


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({}, True),  # curl
        ({"sec-fetch-site": "none", **NAVIGATE}, True),  # typed
        ({"sec-fetch-site": "same-origin"}, True),
        ({"sec-fetch-site": "cross-site", **NAVIGATE}, True),  # a link in a mail
        # The rebound name of an attacker resolves to 127.0.0.1: only the header tells.
        ({"host": "attacker.example:8080"}, False),
        ({"host": "127.0.0.1.attacker.example"}, False),
        ({"host": "[::1"}, False),
        ({"host": "localhost:8080"}, True),
        ({"host": "[::1]:8080"}, True),
        ({"host": "page.example"}, True),  # --name
        # fetch(), <script>, <img> and <iframe> of another site.
        ({"origin": "https://attacker.example"}, False),
        ({"origin": "null"}, False),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, False),
        ({"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"}, False),
        (
            {
                "sec-fetch-site": "cross-site",
                "sec-fetch-mode": "navigate",
                "sec-fetch-dest": "iframe",
            },
            False,
        ),
    ],
)
async def test_requests_of_other_sites_are_refused(
    headers: dict[str, str], allowed: bool, example: Example, tmp_path: Path
) -> None:
    """Whichever path they ask for; the answer says nothing about the cluster."""
    async with visiting(script(example, tmp_path)) as client:
        for path in PATHS:
            answer = await client.get(path, headers=headers)
            assert (answer.status_code == 403) != allowed, path
            assert allowed or "ha-cp-1" not in answer.text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site", **NAVIGATE},  # a form that submits itself
        {"origin": "https://attacker.example"},
        {},  # neither: not a browser that can be trusted
    ],
)
async def test_only_own_pages_send_forms(
    method: str, headers: dict[str, str], example: Example, tmp_path: Path
) -> None:
    """The token of a session comes on top of this."""
    async with visiting(script(example, tmp_path)) as client:
        for path in ("/login", "/logout", "/c/ha/"):
            assert (await client.request(method, path, headers=headers)).status_code == 403


async def test_each_answer_has_the_headers(example: Example, tmp_path: Path) -> None:
    """Pages, documents, errors, files and refusals: no frame, no foreign or inline script."""
    async with visiting(script(example, tmp_path)) as client:
        for path in PATHS:
            for host in ("127.0.0.1", "attacker.example"):
                headers = (await client.get(path, headers={"host": host})).headers
                policy = headers["content-security-policy"]
                assert "unsafe" not in policy
                assert "default-src 'none'" in policy
                assert "frame-ancestors 'none'" in policy
                assert headers["x-frame-options"] == "DENY"
                assert headers["x-content-type-options"] == "nosniff"
                assert headers["cache-control"] == "no-store"
                assert "access-control-allow-origin" not in headers


async def test_pages_have_nothing_inline(example: Example, tmp_path: Path) -> None:
    """The policy would block it, and the page would be broken."""
    import re

    async with visiting(script(example, tmp_path)) as client:
        for view in ("", "topology", "drift", "versions", "runs", "calendar", "capacity", "etcd"):
            page = (await client.get(f"/c/ha/{view}")).text
            assert not re.search(
                r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|javascript:", page
            )
            assert not re.search(r"""(?:src|href|action)=["'](?!/|#)""", page)
