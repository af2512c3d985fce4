"""Credentials leave cluster.yaml; nothing else does."""

from __future__ import annotations

import pytest

from talops.errors import InventoryError, TalopsError
from talops.secrets.importing import find_credentials, without_lines


@pytest.mark.parametrize(
    ("before", "values", "after"),
    [
        ("cluster_name: a\n", {}, "cluster_name: a\n"),
        (
            "# top\na: 1\ntfstate_password: x  # secret\n# about b\nb: 2\n",
            {"tfstate_password": "x"},
            "# top\na: 1\n# about b\nb: 2\n",
        ),
        (
            "proxmox_api_token_id: 'u@pve!t'\nproxmox_api_token_secret: \"q\\n\"\nz: [1,\n  2]\n",
            {"proxmox_api_token_id": "u@pve!t", "proxmox_api_token_secret": "q\n"},
            "z: [1,\n  2]\n",
        ),
        (
            "a: 1\ntfstate_password: |\n  one\n  two\n\n# next\nb: 2\n",
            {"tfstate_password": "one\ntwo\n"},
            "a: 1\n# next\nb: 2\n",
        ),
        (
            "a: 1\ntfstate_password: >-\n  one\n  two\n",
            {"tfstate_password": "one two"},
            "a: 1\n",
        ),
        ("tfstate_password:\n  x\nb: 2\n", {"tfstate_password": "x"}, "b: 2\n"),
        ('tfstate_password: ""\nb: 2\n', {}, 'tfstate_password: ""\nb: 2\n'),
        ("nested:\n  tfstate_password: x\n", {}, "nested:\n  tfstate_password: x\n"),
        ("a: 1\r\ncf_account_id: 7\r\nb: 2\r\n", {"cf_account_id": "7"}, "a: 1\r\nb: 2\r\n"),
        ("tfstate_password: x\n", {"tfstate_password": "x"}, ""),
    ],
)
def test_lines_are_taken_out(before: str, values: dict[str, str], after: str) -> None:
    """Text in; values and the text that stays out, comments and formatting untouched."""
    found = find_credentials(before, "cluster.yaml")
    assert {item.name: item.value.reveal() for item in found} == values
    assert without_lines(before, found) == after


def test_shared_lines_are_refused() -> None:
    """A flow map on one line cannot be cut without losing its neighbours."""
    text = "{a: 1, tfstate_password: x}\n"
    with pytest.raises(TalopsError, match="share lines"):
        without_lines(text, find_credentials(text, "cluster.yaml"))


def test_broken_yaml_is_an_inventory_error() -> None:
    """With the place in it."""
    with pytest.raises(InventoryError, match=r"line 1|line 2"):
        find_credentials("a: [\n", "cluster.yaml")
