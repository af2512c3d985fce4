"""OpenTofu files that are not written yet, in a private place where they can be planned.

The plan is made with the same state, provider and credentials, so it shows what will happen after
the files are written. The place is removed when the plan is known, also if talops is killed.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from talops import generated
from talops.guard import removed_at_the_end
from talops.site import layer_access as access
from talops.tofu.layers import ENDINGS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from talops.layer import Layer
    from talops.site.site import Site
    from talops.tofu.engine import Engine

PREFIX = "talops-plan-"
DATA = ".terraform"
COPIED = (*ENDINGS, ".tfvars", ".terraform.lock.hcl")
STATE = "terraform.tfstate"
BACKEND = "backend.tf"
# What `init` leaves behind, apart from the provider.
REMEMBERED = (STATE, "modules/modules.json")


@contextlib.contextmanager
def rendered_aside(
    files: Mapping[str, str], layers: Sequence[Layer]
) -> Iterator[tuple[Layer, ...]]:
    """The same layers in a private directory, which contains these files."""
    # Not in .talops: a symlink there is refused, because a repository could bring it.
    place = Path(tempfile.mkdtemp(prefix=PREFIX))
    with removed_at_the_end(place):
        for layer in layers:
            _borrow(layer.path, layer.at(place).path)
        for path, text in files.items():
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            (place / path).write_text(text, encoding="utf-8")
        yield tuple(layer.at(place) for layer in layers)


def state_moves(root: Path, files: Mapping[str, str], layers: Sequence[Layer]) -> bool:
    """Whether a state would be read from another place, where it may not be yet."""
    for layer in layers:
        present = root / layer.directory / BACKEND
        wanted = files.get(f"{layer.directory}/{BACKEND}")
        if present.is_file() and present.read_text(encoding="utf-8") != wanted:
            return True
    return False


async def initialised(site: Site, running: Engine) -> None:
    """Run `init` there if the files need it; the real layer stays as it is."""
    every = access.variables(site, running.layer)
    if access.is_initialised(site.root, running, every):
        return
    # A link to the provider of the real layer must not be written through.
    shutil.rmtree(running.layer.path / DATA, ignore_errors=True)
    await access.init(site.root, running, every)


def _borrow(real: Path, aside: Path) -> None:
    """Files of the user, the state (only read), the provider and what `init` remembered."""
    aside.mkdir(parents=True, exist_ok=True)
    for path in real.iterdir() if real.is_dir() else ():
        if path.is_file() and path.name == STATE:
            (aside / STATE).symlink_to(path)
        elif path.is_file() and path.name.endswith(COPIED) and not generated.is_marked(path):
            shutil.copyfile(path, aside / path.name)
    if not (real / DATA / STATE).is_file():
        return
    for name in REMEMBERED:
        if (real / DATA / name).is_file():
            (aside / DATA / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(real / DATA / name, aside / DATA / name)
    if (real / DATA / "providers").is_dir():
        (aside / DATA / "providers").symlink_to(real / DATA / "providers")
