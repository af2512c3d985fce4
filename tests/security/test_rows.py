"""Each defect of the first security review is a test that is named after its row.

The number is in the name of the file, so `pytest -k row_07` runs the tests of row 7. Parts of a row
that are tested beside the code that they are about are listed here.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
ROWS = range(1, 26)
# Row → files and tests of parts that have no file of their own here.
ELSEWHERE: dict[int, dict[str, tuple[str, ...]]] = {
    1: {
        "tests/stages/test_destroy.py": ("test_what_came_after_the_question_stays",),
        "tests/stages/test_recover_plans.py": (),
    },
    3: {"tests/test_generated.py": (), "tests/importing/test_outside.py": ()},
    4: {
        "tests/secrets/test_split.py": (
            "test_init_makes_both_identities",
            "test_a_file_that_the_cluster_could_open_is_found",
        ),
        "tests/gitops/test_objects.py": ("test_only_the_plugins_own_token_goes_into_the_cluster",),
        "tests/proxmox/test_plugins.py": (
            "test_volumes_live_and_vms_stay",
            "test_no_right_is_granted_in_vain",
        ),
    },
    5: {
        "tests/security/cluster/test_lost_member.py": (),
        "tests/stages/test_reset_one.py": ("test_refusals_name_the_way_out",),
    },
    14: {"tests/security/test_paused_holders.py": ()},
    17: {"tests/app/test_support.py": ("test_every_form_is_found_and_removed",)},
    18: {"tests/security/test_terminal.py": ()},
    25: {
        "tests/security/local/test_row_24_inventory_bounds.py": (
            "test_a_storage_whose_second_line_is_a_command",
        )
    },
}


def files_of(row: int) -> list[Path]:
    return sorted(HERE.rglob(f"test_row_{row:02}_*.py"))


def functions_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, functions) and node.name.startswith("test_")
    }


@pytest.mark.parametrize("row", ROWS)
def test_every_row_has_a_test(row: int) -> None:
    """25 of 25, and each file says which row it is about."""
    files = files_of(row)
    assert files
    for file in files:
        assert functions_in(file)
        document = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
        assert str(row) in document, file


@pytest.mark.parametrize("row", ELSEWHERE)
def test_parts_of_a_row_are_where_the_table_says(row: int) -> None:
    """A renamed test is renamed here, too."""
    for file, names in ELSEWHERE[row].items():
        found = functions_in(ROOT / file)
        assert found >= {*names}
        assert found
