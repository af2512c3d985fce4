"""Options of talops behind `--`, as `task infra:destroy -- --everything` passes them."""

from __future__ import annotations

from typing import Any

import pytest
from typer.main import get_command

from talops.cli.infra.commands import app
from talops.cli.infra.own_options import split


@pytest.fixture(scope="module")
def destroy() -> Any:
    group: Any = get_command(app)
    return group.commands["destroy"]


@pytest.mark.parametrize(
    ("words", "own", "others"),
    [
        (["--everything"], ["--everything"], []),
        (
            ["-lock=false", "--allow-destroy", "cp-1", "-no-color"],
            ["--allow-destroy", "cp-1"],
            ["-lock=false", "-no-color"],
        ),
        (["--layer=02-platforms/demo", "-v"], ["--layer=02-platforms/demo"], ["-v"]),
        (["-target", "module.x", "--unknown"], [], ["-target", "module.x", "--unknown"]),
        (["--allow-destroy"], ["--allow-destroy"], []),
    ],
)
def test_own_options_are_found(
    destroy: Any, words: list[str], own: list[str], others: list[str]
) -> None:
    """With their values; what the engine must get stays in its order."""
    assert split(words, destroy.params) == (own, others)


def test_a_parsed_command_line_has_both(destroy: Any) -> None:
    """The flag is set, and the engine gets only its own words."""
    context = destroy.make_context("destroy", ["--layer", "x", "--", "--everything", "-lock=false"])
    assert context.params["everything"] is True
    assert context.args == ["-lock=false"]
