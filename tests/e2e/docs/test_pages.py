"""Runbooks and break/fix pages are followed: what they type, and what they promise to appear."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.docs.courses import COURSES, FOLDERS, lab_of, of_course, pages, shell
from tests.e2e.docs.page import missing

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

    from tests.e2e.docs.page import Page

pytestmark = pytest.mark.slow
TOOLS = ("sops", "tofu")
SAMPLE = 2


def new(folder: Path, name: str) -> Path:
    (made := folder / name).mkdir()
    return made


async def _follow(
    course: str, chosen: list[Page], make_lab: Any, tmp_path: Path, tool: Callable[[str], Path]
) -> None:
    (tools := tmp_path / "tools").mkdir()
    (session := tmp_path / "session").mkdir()
    for name in TOOLS:
        (tools / name).symlink_to(tool(name))
    async with lab_of(make_lab, COURSES[course]) as lab:
        for page in chosen:
            async with shell(lab, new(session, page.path.stem), tools) as opened:
                await opened.follow(page)
                if page.path.parent.name == "fix":
                    everything = "\n".join(opened.told)
                    assert missing((page.title,), everything) is None, page.name


@pytest.mark.sampled("followed pages")
@pytest.mark.timeout(3600)
async def test_a_sample(
    make_lab: Any, tmp_path: Path, tool: Callable[[str], Path], rng: random.Random
) -> None:
    """Two pages in one lab; the others in `make chaos`."""
    chosen = sorted(rng.sample(of_course("small"), SAMPLE), key=lambda page: page.name)
    await _follow("small", chosen, make_lab, tmp_path, tool)


@pytest.mark.chaos
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("course", COURSES)
async def test_every_page(
    course: str, make_lab: Any, tmp_path: Path, tool: Callable[[str], Path]
) -> None:
    """One lab per course."""
    await _follow(course, of_course(course), make_lab, tmp_path, tool)


def test_every_page_has_its_course() -> None:
    """A page that no test follows would become wrong."""
    every = [page for folder in FOLDERS for page in pages(folder)]
    assert len(every) > 3
    assert [p.name for p in every if p.settings.get("course") not in COURSES] == []
    assert [p.name for p in every if not p.commands] == []
    assert all(of_course(course) for course in COURSES)


def test_break_fix_pages_are_complete() -> None:
    """Cause, fix and proof; the index lists the messages."""
    for page in pages("fix"):
        text = page.path.read_text(encoding="utf-8")
        found = re.findall(r"^## (\w+)$", text, flags=re.MULTILINE)
        assert [name for name in found if name in {"Cause", "Fix", "Proof"}] == [
            "Cause", "Fix", "Proof",
        ], page.name  # fmt: skip
        index = page.path.with_name("index.md").read_text(encoding="utf-8")
        assert f"[{page.title}]({page.path.name})" in index
