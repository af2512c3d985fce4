"""A program under another version number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from talops.lab.kubernetes.versioned import as_version

if TYPE_CHECKING:
    from pathlib import Path

# A shell script stands in for the program: its version is a literal that a zero ends, as in Go,
# and also part of a path, as in the module paths of a Go binary.
PROGRAM = b"""#!/bin/sh
tail -n 1 "$0" | tr -d '\\000'
exit
module k8s.io/kubernetes@v1.36.1/cmd
Kubernetes \0v1.36.1\0
"""


def program(folder: Path) -> Path:
    path = folder / "kube-apiserver"
    path.write_bytes(PROGRAM)
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("wanted", "copied"),
    [("v1.36.1", False), ("v1.35.4", True), ("v1.36.12", False), ("latest", False), ("", False)],
)
async def test_only_the_number_changes(wanted: str, copied: bool, tmp_path: Path) -> None:
    """A number of another length has no place in the program, which then runs as it is."""
    own = program(tmp_path)
    found = await as_version(own, wanted, tmp_path / "scratch")
    assert (found != own) is copied
    if copied:
        assert found == tmp_path / f"as-{wanted}" / "kube-apiserver"
        assert found.read_bytes() == own.read_bytes().replace(
            b"\0v1.36.1\0", f"\0{wanted}\0".encode()
        )
        assert b"kubernetes@v1.36.1/" in found.read_bytes()
        assert await as_version(own, wanted, tmp_path / "scratch") == found


async def test_a_copy_that_does_not_report_it_is_not_used(tmp_path: Path) -> None:
    """Whatever the program says decides, not the copy's name."""
    own = program(tmp_path)
    own.write_bytes(b"#!/bin/sh\necho Kubernetes v1.36.1\n")
    assert await as_version(own, "v1.35.4", tmp_path / "scratch") == own
