"""Collect every text that a reader sees, with its position; `make texts` prints errors and hints.

Python files: strings, docstrings and comments; of tests, docstrings and comments. Templates, pages,
shell and data files: every line.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).parent.parent
PATTERNS = (
    "src/talops/**/*.py",
    "src/talops/**/*.j2",
    "src/talops/**/*.toml",
    "src/talops/**/*.proto",
    "tests/**/*.py",
    "docs/**/*.md",
    "examples/**/*.md",
    "examples/**/*.yaml",
    "*.md",
    "scripts/*",
    "Makefile",
    "pyproject.toml",
    ".ci/*",
)
GENERATED = ("_pb2.py", "_grpc.py")
# Keyword arguments whose name says what their string is.
KEYWORDS = {"hint": "hint", "help": "help", "description": "help", "reason": "output"}
# Calls, beside those of exceptions, whose strings say what is wrong.
PROBLEMS = {
    "refuse",
    "refusal",
    "_problem",
    "problem",
    "FileProblem",
    "in_file",
    "failed",
    "warning",
    "unproven",
}
# Calls whose strings are not prose.
SILENT = {"compile", "fullmatch", "match", "search", "sub", "split", "execute", "encode", "open"}


@dataclass(frozen=True)
class Text:
    """One text; `kind` is error, hint, help, output, docstring, comment or page."""

    path: str
    line: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.kind}: {' '.join(self.text.split())}"


def sources() -> list[Path]:
    found = {path for pattern in PATTERNS for path in ROOT.glob(pattern) if path.is_file()}
    return sorted(path for path in found if not path.name.endswith(GENERATED))


@cache
def collect() -> tuple[Text, ...]:
    """The texts of all files; read once per process, because parsing takes seconds."""
    return tuple(
        text
        for path in sources()
        for text in texts_of(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))
    )


def texts_of(name: str, source: str) -> list[Text]:
    if not name.endswith(".py"):
        return [Text(name, n, "page", line) for n, line in enumerate(source.splitlines(), 1)]
    visitor = _Visitor(name)
    visitor.visit(ast.parse(source))
    texts = [*visitor.texts, *_comments(name, source)]
    if name.startswith("tests/"):  # their strings are data, among them what must be found
        texts = [text for text in texts if text.kind in {"docstring", "comment"}]
    return sorted(texts, key=lambda text: text.line)


def _comments(name: str, source: str) -> Iterator[Text]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield Text(name, token.start[0], "comment", token.string.lstrip("# "))


class _Visitor(ast.NodeVisitor):
    """Walks a module and keeps its strings, each with the kind that its context gives."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.kind = "output"
        self.texts: list[Text] = []

    def visit_Expr(self, node: ast.Expr) -> None:
        is_string = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        self._within("docstring" if is_string else self.kind, [node.value])

    def visit_Raise(self, node: ast.Raise) -> None:
        self._within("error", [node.exc] if node.exc else [])

    def visit_Yield(self, node: ast.Yield) -> None:
        # Rules yield (where, what, hint).
        kind = "error" if isinstance(node.value, ast.Tuple) else self.kind
        self._within(kind, [node.value] if node.value else [])

    def visit_Call(self, node: ast.Call) -> None:
        called = _name_of(node.func)
        if called in SILENT:
            return
        self.visit(node.func)
        kind = "error" if called.endswith("Error") or called in PROBLEMS else self.kind
        self._within(kind, node.args)
        for keyword in node.keywords:
            self._within(KEYWORDS.get(keyword.arg or "", kind), [keyword.value])

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self._keep(node, node.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        parts = [
            str(part.value) if isinstance(part, ast.Constant) else "{…}" for part in node.values
        ]
        self._keep(node, "".join(parts))
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                self.visit(part.value)

    def _within(self, kind: str, nodes: Iterable[ast.AST]) -> None:
        outer, self.kind = self.kind, kind
        for node in nodes:
            self.visit(node)
        self.kind = outer

    def _keep(self, node: ast.expr, text: str) -> None:
        if re.search(r"[a-z]{2}", text, flags=re.IGNORECASE):
            self.texts.append(Text(self.name, node.lineno, self.kind, text))


def _name_of(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def main() -> None:
    """Print the errors and hints, for an editorial pass."""
    for text in collect():
        if text.kind in {"error", "hint"} and " " in text.text:
            sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    main()
