"""Secrets are masked in every encoding in which programs print them (row 22)."""

from __future__ import annotations

import base64
import json
import random
import string
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

import pytest
from tests.examples import EXAMPLES

from talops.redaction import MASK, Redactor, Secret, forms

if TYPE_CHECKING:
    from collections.abc import Callable

PASSWORD = 'pä"ss\\wö/rd+1&2 é'

ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "JSON": json.dumps,
    "JSON, not ASCII": lambda s: json.dumps(s, ensure_ascii=False),
    "URL": lambda s: f"https://h/?p={quote(s, safe='')}",
    "URL path": lambda s: f"https://h/{quote(s)}",
    "form": lambda s: f"password={quote_plus(s)}&x=1",
    "base64": lambda s: base64.b64encode(s.encode()).decode(),
    "Basic": lambda s: "Basic " + base64.b64encode(f"talops:{s}".encode()).decode(),
    "Basic, other user": lambda s: "Basic " + base64.b64encode(f"me:{s}".encode()).decode(),
    "base64 inside": lambda s: base64.b64encode(f'{{"k": "{s}"}}'.encode()).decode(),
    "base64 for URLs": lambda s: base64.urlsafe_b64encode(f"??{s}??".encode()).decode(),
}


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("secret", [PASSWORD, "hunter", "x" * 200, "a1b2c3d4-e5f6"])
def test_every_encoding(name: str, secret: str) -> None:
    """What is left tells less than two bytes at either end."""
    text = f"before {ENCODINGS[name](secret)} after"
    shown = Redactor([Secret(secret)])(text)
    assert MASK in shown
    assert shown.startswith("before ")
    assert shown.endswith(" after")
    hidden = ENCODINGS[name](secret)
    left = shown.removeprefix("before ").removesuffix(" after")
    assert not any(form in left for form in forms(secret))
    assert len(left) < len(hidden) or len(hidden) < 12


def test_headers_without_a_known_secret() -> None:
    """The scheme stays, the credentials go."""
    shown = Redactor()(
        '{"Authorization": "Basic dXNlcjpwdw==", "a": 1} authorization: Bearer ey.J-_'
    )
    assert shown == f'{{"Authorization": "Basic {MASK}", "a": 1}} authorization: Bearer {MASK}'
    assert Redactor()("authorization: basic auth") == "authorization: basic auth"


def test_lines_of_a_private_key() -> None:
    """A log that was truncated inside a PEM block, also of one in base64."""
    body = "\n".join(f"MIIE{number:060}" for number in range(4))
    pem = f"-----BEGIN EC PRIVATE KEY-----\n{body}\n-----END EC PRIVATE KEY-----\n"
    for secret in (pem, base64.b64encode(pem.encode()).decode()):
        assert Redactor([Secret(secret)])(f"x {body.splitlines()[2]} y") == f"x {MASK} y"


def test_ordinary_text_stays() -> None:
    """Thousands of forms mask nothing in the inventories of the examples."""
    rng = random.Random(7)
    letters = string.ascii_letters + string.digits
    redact = Redactor(Secret("".join(rng.choices(letters, k=32))) for _ in range(200))
    for path in sorted(EXAMPLES.rglob("*.yaml")):
        text = path.read_text("utf-8")
        assert redact(text) == text
        assert [redact(line) for line in text.splitlines()] == text.splitlines()


def test_short_and_long_texts_are_masked_alike() -> None:
    """They are searched in two ways."""
    redact = Redactor([Secret("first-secret"), Secret("first-secret-longer"), Secret("other-1")])
    line = "a first-secret-longer b first-secret c other-1 d"
    assert redact(line) == f"a {MASK} b {MASK} c {MASK} d"
    assert redact(line * 500) == f"a {MASK} b {MASK} c {MASK} d" * 500
