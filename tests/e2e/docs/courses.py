"""Labs that several pages share: starting one and creating its cluster costs more than a page.

A page says in `<!-- setting course=NAME -->` which lab it is for. It leaves the cluster as it found
it, and the pages of a course run in the order of their names.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.e2e.docs.page import DOCS, Page, read
from tests.e2e.docs.session import Session, opened

from talops.lab.spec import LabSpec

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from tests.e2e.conftest import Lab

FOLDERS = ("fix", "how-to")


@dataclass(frozen=True)
class Course:
    """`wanted`: of make_lab. `up`: the cluster exists before the first page."""

    wanted: dict[str, Any] = field(default_factory=dict)
    spec: dict[str, Any] = field(default_factory=dict)
    up: bool = True


COURSES = {
    "small": Course(),
    "ha": Course({"control_planes": 3}, {"apiservers": "leader-only"}),
}


def pages(folder: str) -> list[Page]:
    return [read(path) for path in sorted((DOCS / folder).glob("*.md")) if path.stem != "index"]


def of_course(name: str) -> list[Page]:
    every = [page for folder in FOLDERS for page in pages(folder)]
    return [page for page in every if page.settings.get("course") == name]


@contextlib.asynccontextmanager
async def lab_of(make_lab: Callable[..., Any], course: Course) -> AsyncIterator[Lab]:
    spec = LabSpec(**{"timing": 0.0, **course.spec})
    async with make_lab(spec=spec, sealed=True, name="home", **course.wanted) as lab:
        if course.up:
            made = await lab.talops("up", "--yes")
            assert made.code == 0, made.everything
        yield lab


@contextlib.asynccontextmanager
async def shell(lab: Lab, folder: Path, tools: Path) -> AsyncIterator[Session]:
    """In the directory of the inventory; `talops lab` finds this lab, and `tools` are on PATH."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("TALOPS_")},
        **lab.environment,
        "PATH": f"{tools}:{os.environ['PATH']}",
        "LAB": lab.details["directory"],
        "LAB_PROXMOX": lab.details["proxmox"]["hosts"][0]["endpoint"],
        "LAB_TOKEN": lab.details["proxmox"]["api_token"],
        "CURL_CA_BUNDLE": lab.details["ca_file"],
        "TALOPS_DIR": lab.details["directory"],
        "COLUMNS": "140",
    }
    network = lab.details["network"].replace("0.0/16", "16.")
    async with opened(folder, lab.root, environment, lab.preparer) as session:
        session.stands_for = {"10.0.0.": network}
        yield session
