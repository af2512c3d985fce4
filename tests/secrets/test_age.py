"""age keys: their writing, their recipients, their files."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from talops.errors import TalopsError
from talops.secrets import bech32
from talops.secrets.age import AgeKey, KeyRing, check_recipients, load_keys, parse_keys

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# A pair that age-keygen made for this test.
IDENTITY = "AGE-SECRET-KEY-13VYXR7N5VUNCDJU94RSHVHKJP3JDDESEPJ5CKCH0MJMRKCJMEYXQ7T9VTT"
RECIPIENT = "age128gfd22jq84r7twllws8t4t97m6twt2pdr6s8jujvxfh72mzyeuspjsehy"


def test_a_recipient_follows_from_its_identity() -> None:
    """The same pair that age-keygen gives."""
    assert AgeKey.parse(IDENTITY).recipient == RECIPIENT


def test_bech32_goes_both_ways() -> None:
    """Any bytes come back, in both cases of letters."""
    for size in range(40):
        data = bytes(range(size))
        assert bech32.decode(bech32.encode("age", data)) == ("age", data)
        assert bech32.decode(bech32.encode("age", data).upper()) == ("age", data)


@pytest.mark.parametrize(
    "text",
    ["", "age", "age1", IDENTITY[:-1], IDENTITY[:-1] + "Q", RECIPIENT[:-1] + "B", "age1bbbbbb"],
)
def test_a_damaged_key_is_refused(text: str) -> None:
    """Cut off, mistyped or mixed: a ValueError that does not repeat the text."""
    with pytest.raises(ValueError, match=r".") as caught:
        AgeKey.parse(text)
    assert not text or text not in str(caught.value)


def test_a_key_does_not_print_itself() -> None:
    """Repr and str show the recipient and a mask."""
    key = AgeKey.parse(IDENTITY)
    assert IDENTITY not in f"{key} {key!r} {KeyRing((key,))!r}"


def test_a_key_file_comes_back(tmp_path: Path) -> None:
    """Private, with several keys and the mark of a rotation; a missing file is None."""
    first, second = AgeKey.generate(), AgeKey.generate()
    ring = KeyRing((first, second), rotating_to=second)
    ring.save(tmp_path / "age.key")
    assert load_keys(tmp_path / "age.key") == ring
    assert (tmp_path / "age.key").stat().st_mode & 0o777 == 0o600
    assert load_keys(tmp_path / "nothing") is None


@pytest.mark.parametrize("text", ["", "# only a comment\n", f"{IDENTITY}\nnonsense\n"])
def test_a_wrong_key_file_is_named(text: str) -> None:
    """The error has the file and, where there is one, the line; never the key."""
    with pytest.raises(TalopsError) as caught:
        parse_keys(text, "age.key")
    assert str(caught.value).startswith("age.key")
    assert IDENTITY not in str(caught.value)


@pytest.mark.parametrize("recipient", ["me", IDENTITY, RECIPIENT[:-2]])
def test_only_recipients_are_recipients(recipient: str) -> None:
    """A secret key in the place of a recipient is refused before it is written anywhere."""
    with pytest.raises(TalopsError):
        check_recipients([RECIPIENT, recipient])


@pytest.mark.slow
def test_age_keygen_agrees(tool: Callable[[str], Path], tmp_path: Path) -> None:
    """The real program reads a key made here and gives the same recipient."""
    key = AgeKey.generate()
    KeyRing((key,)).save(tmp_path / "age.key")
    keygen = tool("age").parent / "age-keygen"
    said = subprocess.run(
        [keygen, "-y", tmp_path / "age.key"], capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == key.recipient
