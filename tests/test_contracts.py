"""What `test_architecture` looks for is found: each check on code that breaks its rule."""

from __future__ import annotations

import ast

import pytest
from tests import contracts, purity


@pytest.mark.parametrize(
    "code",
    [
        "import os\nos.environ['HOME']",
        "from os import getenv",
        "import sys\nsys.stderr.write('x')",
        "print('x')",
        "import asyncio\nasyncio.run(f())",
    ],
)
def test_what_only_a_face_may_do(code: str) -> None:
    """Each would work in a terminal only."""
    assert contracts.of_a_face(ast.parse(code))


@pytest.mark.parametrize(
    "code",
    [
        "def a(): return [x for x in y]",
        "def a():\n b = []\n b.append(1)\n return b",
        "def a(): return []\ndef b(): return []",
        "def a(): pass",
    ],
)
def test_what_is_no_list(code: str) -> None:
    """Computed, collected, twice, or nothing."""
    assert contracts.not_a_list(ast.parse(code))


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("def plan(self, facts): return [facts]", ""),
        ("async def plan(self, facts): return []", "asynchronous"),
        ("def plan(self, facts): self._planned = facts", "sets self._planned"),
        ("def plan(self, facts): self._go()\n def _go(self): self._x.pop()", "in _go: sets"),
        ("def plan(self, _): self._x\n async def observe(self): self._x = 1", "remembers"),
        ("def plan(self, facts): self._report.note('careful')", "reports"),
        ("def plan(self, facts): go(facts)\ndef go(facts): facts.path.exists()", "in go: calls"),
        ("def plan(self, facts): return read_snapshot(self._site.root)", "read_snapshot"),
    ],
)
def test_what_a_plan_may_not_do(body: str, found: str) -> None:
    """Each is a way in which a plan once depended on more than its facts."""
    (stage,) = contracts.stages_in([ast.parse(f"class Bad(Stage[A, B]):\n {body}")])
    assert bool(contracts.impurities(stage)) == bool(found)
    assert found in "; ".join(contracts.impurities(stage))


@pytest.mark.parametrize(
    "body",
    [
        "async def verify(self, _): file.unlink()",
        "async def verify(self, _): self._go()\n async def _go(self): etcd.remove_member(1)",
        "async def verify(self, seen): self._record('founded')",
        "async def verify(self, seen): self._seen = ()",
    ],
)
def test_what_a_proof_may_not_do(body: str) -> None:
    """Each is something that a `verify` once did."""
    (stage,) = contracts.stages_in([ast.parse(f"class Bad(Stage[A, B]):\n {body}")])
    assert contracts.effects(stage) != []


@pytest.mark.parametrize(
    "code",
    [
        "a = 'x' in change.detail",
        "b = d.actual != FOREIGN",
        "c = f.reason.startswith('z')",
        "d = re.search('x', change.detail)",
        "e = change.detail.split(' ')[0]",
        "match change.detail:\n case 'x': f()",
        "if change.node and not change.detail: f()",
        "g = [c for c in changes if c.detail]",
    ],
)
def test_sentences_that_decide_are_found(code: str) -> None:
    """Each is a condition that another wording could change."""
    texts = frozenset({"detail", "actual", "reason"})
    assert len(contracts.decided_by_text(ast.parse(code), texts)) == 1


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import subprocess", {"subprocess"}),
        ("from urllib.parse import urlsplit", set()),
        ("from http.client import HTTPConnection", {"http.client"}),
        ("import os\nx = os.environ['A']", {"os.environ"}),
        ("from os import getenv", {"os.getenv"}),
        ("x = Path('a').read_text()", {"read_text"}),
        ("with open('a') as f: pass", {"open"}),
        ("x = resolve(y).replace('a', 'b')", set()),
    ],
)
def test_what_is_not_pure(code: str, found: set[str]) -> None:
    """Imports, the environment, and looks at the disk."""
    assert purity.touches(ast.parse(code)) == found


@pytest.mark.parametrize(
    ("code", "sleeps", "ports"),
    [
        ("time.sleep(0.5)", 1, 0),
        ("await asyncio.sleep(3)", 1, 0),
        ("await asyncio.sleep(0)", 0, 0),
        ("while not ready():\n    time.sleep(0.1)", 0, 0),
        ("for _ in range(9):\n    if ready(): break\n    time.sleep(0.1)", 0, 0),
        ("for _ in range(2):\n    time.sleep(0.1)", 1, 0),
        ("socket.create_server(('127.0.0.1', 8006))", 0, 1),
        ("asyncio.start_server(handle, '127.0.0.1', port=8080)", 0, 1),
        ("s.bind(('127.0.0.1', 0))", 0, 0),
        ("asyncio.open_connection('127.0.0.1', 9)", 0, 0),
    ],
)
def test_fixed_times_and_ports_are_found(code: str, sleeps: int, ports: int) -> None:
    """Pauses of polling loops and port 0 are allowed."""
    module = ast.parse(code, mode="exec") if "await" not in code else _coroutine(code)
    assert len(purity.fixed_sleeps(module)) == sleeps
    assert len(purity.fixed_ports(module)) == ports


def _coroutine(code: str) -> ast.Module:
    return ast.parse(f"async def f():\n    {code}")


def test_long_functions_are_found() -> None:
    """Methods and nested functions, too."""
    module = ast.parse("class A:\n    def f(self):\n        a\n        b\ndef g(): pass")
    assert contracts.long_functions(module, 2) == ["f has 3 lines"]


def test_second_types_are_found() -> None:
    """And a concept that has lost its type."""
    modules = {"a": ast.parse("class Layer: pass"), "b": ast.parse("class Layer: pass")}
    assert contracts.defined_twice(modules, frozenset({"Layer", "Site"})) == {"Layer": 2, "Site": 0}


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("x = change.detail", True),
        ("getattr(change, 'detail')", True),
        ("match c:\n case Change(detail=d): pass", True),
        ("Change('create', 'a', detail='b')", False),
        ("detail = 'b'", False),
    ],
)
def test_reads_are_found(code: str, found: bool) -> None:
    """Of the attribute; writing one and variables of that name are something else."""
    assert contracts.reads(ast.parse(code), "detail") is found
