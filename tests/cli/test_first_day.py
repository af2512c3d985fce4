"""What a new user met on the first day, each mended once and kept so.

Rows that have a test elsewhere: extras (tests/security, row 20), `-- --everything`
(test_own_options), MAC addresses as emoji (test_inventory_commands), files of other tools
(test_generated), sibling keys and free addresses (tests/cases/inventory).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from talops.tofu.errors import failure
from talops.tofu.events import Diagnostic

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Talops


def test_init_names_every_step(talops: Talops, tmp_path: Path) -> None:
    """From the files to the cluster, with the account in Proxmox."""
    done = talops("-C", tmp_path, "init", "--name", "home")
    assert done.code == 0, done.err
    steps = ["talops check", "talops secrets init", "talops host prepare", "talops up"]
    places = [done.err.find(step) for step in steps]
    assert places == sorted(places)
    assert -1 not in places


def test_init_of_bare_metal_names_no_host(talops: Talops, tmp_path: Path) -> None:
    """There is no Proxmox to prepare."""
    done = talops("-C", tmp_path, "init", "--bare-metal")
    assert "talops up" in done.err
    assert "host prepare" not in done.err


def test_nodes_that_do_not_exist(talops: Talops, dev: Path) -> None:
    """A mistyped name is not a cluster without changes."""
    done = talops("-C", dev, "up", "--nodes", "nope", "--yes")
    assert done.code == 1, done
    assert "--nodes nope matches none of the nodes" in done.err


def test_secrets_import_before_init(talops: Talops, dev: Path) -> None:
    """The next command is named, not an error of SOPS."""
    with (dev / "cluster.yaml").open("a", encoding="utf-8") as file:
        file.write("\nproxmox_api_token_secret: 6f9d0f5e\n")
    done = talops("-C", dev, "secrets", "import")
    assert done.code != 0
    assert "talops secrets init" in done.err


@pytest.mark.parametrize("words", [("infra", "plan"), ("infra", "output")], ids=" ".join)
def test_infra_before_configure(words: tuple[str, ...], talops: Talops, dev: Path) -> None:
    """One error with the next command, not a page of OpenTofu."""
    done = talops("-C", dev, *words)
    assert done.code != 0
    assert "talops configure" in done.err
    assert done.err.count("error:") == 1


@pytest.mark.parametrize(
    "detail",
    [
        "decryption failed for all provided methods",
        "encryption method not initialized",
    ],
)
def test_a_wrong_passphrase_is_named(detail: str) -> None:
    """As OpenTofu 1.12 words it; the secret that must fit has a name."""
    layer = "02-platforms/home"
    told = Diagnostic(layer=layer, severity="error", summary="Error loading state", detail=detail)
    error = failure(layer, "plan", 1, [told], "")
    assert "state_encryption_passphrase" in str(error.hint)


def test_the_endpoint_of_backups_is_one_of_s3(talops: Talops, dev: Path) -> None:
    """Its example is not the address of a Proxmox, and http is an address, too."""
    cluster = dev / "cluster.yaml"
    text = cluster.read_text(encoding="utf-8")
    for endpoint, code in (("http://nas.example:9000", 0), ("nas.example", 3)):
        backup = f"backup: {{store: 's3://b/p', endpoint: '{endpoint}'}}\n"
        cluster.write_text(f"{text}\n{backup}", encoding="utf-8")
        done = talops("-C", dev, "check")
        assert done.code == code, done
    assert "write it like https://s3.example" in done.out + done.err


def test_the_page_of_opentofu_is_not_printed_twice() -> None:
    """Recorded from OpenTofu 1.12.6: the view has shown the page, the error has its reason."""
    detail = (
        'Reason: Backend type changed from "local" to "http"\n\n'
        'The "backend" is the interface that OpenTofu uses to store state,\nperform operations.'
    )
    summary = 'Backend initialization required: please run "tofu init"'
    layer = "02-platforms/home"
    told = Diagnostic(layer=layer, severity="error", summary=summary, detail=detail)
    error = failure(layer, "plan", 1, [told], "")
    assert error.what.endswith('"tofu init": Backend type changed from "local" to "http"')
    assert error.hint == f"talops infra init --layer {layer}"
