"""What tofu's process is given to reach a state."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from talops.errors import TalopsError
from talops.render.layers import layers
from talops.site.layer_access import layer_variables

if TYPE_CHECKING:
    from pathlib import Path

    from tests.examples import Example

    from talops.inventory.model import Cluster

PEM = "TF_HTTP_CLIENT_CA_CERTIFICATE_PEM"


def _with_state(example: Example, kind: str, ca_file: str | None) -> Cluster:
    cluster = example("ha")
    url = "https://state.example/home" if kind == "http" else None
    return replace(cluster, state=replace(cluster.state, kind=kind, url=url, ca_file=ca_file))


def _variables(cluster: Cluster, root: Path, **given: str) -> dict[str, str]:
    layer = layers(cluster)[-1].name
    return layer_variables(cluster, layer, {}, root, given)


def test_a_state_server_with_its_own_authority(example: Example, tmp_path: Path) -> None:
    """The http backend takes a certificate's text, and the inventory's wins over the shell's."""
    (tmp_path / "ca.pem").write_text("a certificate")
    given = _variables(_with_state(example, "http", "ca.pem"), tmp_path, **{PEM: "another"})
    assert given[PEM] == "a certificate"
    assert PEM not in _variables(_with_state(example, "http", None), tmp_path)


def test_a_bucket_with_its_own_authority(example: Example, tmp_path: Path) -> None:
    """The s3 backend takes a file's name, seen from wherever tofu runs."""
    given = _variables(_with_state(example, "s3", "ca.pem"), tmp_path)
    assert given["AWS_CA_BUNDLE"] == str(tmp_path / "ca.pem")


def test_a_missing_authority_is_named(example: Example, tmp_path: Path) -> None:
    """The error says which file is missing and which key names it."""
    with pytest.raises(TalopsError) as caught:
        _variables(_with_state(example, "http", "gone.pem"), tmp_path)
    assert caught.value.where == str(tmp_path / "gone.pem")
    assert "state.ca_file" in str(caught.value.hint)
