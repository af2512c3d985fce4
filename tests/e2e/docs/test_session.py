"""The harness itself: a page that is wrong fails, at its line, with what happened."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests.e2e.docs.page import Page, missing, read
from tests.e2e.docs.session import PageError, opened

if TYPE_CHECKING:
    from pathlib import Path

RIGHT = """# A page

```console
$ echo one; \\
  echo two
one
two
$ cd place && export WORD=kept
$ pwd; echo "$WORD"
…/place
kept
$ read -p "Go? [y/N]: " word; echo "said $word"
Go? [y/N]: y
said y
```

<!-- append list.yaml -->
```yaml
- a
```

<!-- not run: a reason -->
```console
$ exit 9
```

<!-- exit 3 -->
```console
$ cat list.yaml; (exit 3)
- a
```

<!-- lab
test -e list.yaml
-->
"""


def page(folder: Path, text: str) -> Page:
    path = folder / "page.md"
    path.write_text(text, encoding="utf-8")
    return read(path)


async def follow(tmp_path: Path, text: str) -> list[str]:
    (tmp_path / "home" / "place").mkdir(parents=True, exist_ok=True)
    (session := tmp_path / "session").mkdir(exist_ok=True)
    found = page(tmp_path, text)
    async with opened(session, tmp_path / "home", os.environ, None) as shell:
        await shell.follow(found)
        return shell.told


async def test_a_right_page(tmp_path: Path) -> None:
    """One shell for all of it, with questions, files and exit codes."""
    told = await follow(tmp_path, RIGHT)
    assert len(told) == 7
    assert "exit 9" not in "".join(told)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("two\n$ cd", "three\n$ cd", "this line did not come: 'three'"),
        ("one\ntwo\n", "two\none\n", "this line did not come: 'one'"),
        ("exit 3 -->", "exit 4 -->", "expected exit 4"),
        ("test -e list", "test -e no-list", "expected exit 0"),
        ("echo one", "no-such-program", "not found"),
    ],
)
async def test_a_wrong_page(tmp_path: Path, before: str, after: str, said: str) -> None:
    """Another line, another order, another exit code: the error has the line and the output."""
    assert before in RIGHT
    with pytest.raises(PageError, match=r"page.md:\d+") as failed:
        await follow(tmp_path, RIGHT.replace(before, after, 1))
    assert said in str(failed.value)


@pytest.mark.parametrize(
    ("promised", "printed", "lost"),
    [
        (("a … c",), "x a b c d", None),
        (("a  b",), "a      b", None),
        (("a", "b"), "b\na", "b"),
        (("…", "b"), "b", None),
        (("a.c",), "abc", "a.c"),
    ],
)
def test_promises(promised: tuple[str, ...], printed: str, lost: str | None) -> None:
    """In order, `…` is any text, and nothing else is a pattern."""
    assert missing(promised, printed) == lost


@pytest.mark.parametrize(
    "text", ["# T\n\n```console\noutput\n```\n", "# T\n\n<!-- exits 4 -->\n"], ids=["lost", "typo"]
)
def test_a_page_that_cannot_be_followed(tmp_path: Path, text: str) -> None:
    """Output without a command, and a comment that means nothing."""
    with pytest.raises(AssertionError, match="line"):
        page(tmp_path, text)
