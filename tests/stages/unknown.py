"""Every stage there is, made of stand-ins: what it does can be compared without knowing it."""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import pkgutil
from dataclasses import MISSING, fields
from types import FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any

from tests.stages.reworded import Log, Traced

from talops import stages
from talops.pipeline.stage import Change, Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

# A loop over stand-ins has no end of its own.
MOST_CALLS = 200
OWN_FIELDS = {"action", "target", "detail", "node"}


class EndlessError(Exception):
    """The stage would go on for ever: what it did until now is enough."""


class Anything(Traced):
    """Answers whatever it is asked: one item, true, larger than nothing, equal to itself."""

    def __getattr__(self, name: str) -> Anything:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything(self._log, f"{self._path}.{name}")

    def __call__(self, *args: object, **named: object) -> Anything:
        if len(self._log) > MOST_CALLS:
            raise EndlessError
        super().__call__(*args, **named)
        return Anything(self._log, f"{self._path}()")

    def __getitem__(self, key: object) -> Anything:
        return Anything(self._log, f"{self._path}[]")

    def __iter__(self) -> Iterator[Anything]:
        yield Anything(self._log, f"{self._path}[]")

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        return 1

    def __int__(self) -> int:
        return 1

    def __lt__(self, other: object) -> bool:
        return False

    def __contains__(self, item: object) -> bool:
        return True

    def __truediv__(self, other: object) -> Anything:
        return Anything(self._log, f"{self._path}/{other}")

    def __fspath__(self) -> str:
        return "/nonexistent/of/a/test"

    def __str__(self) -> str:
        return self._path

    def __format__(self, how: str) -> str:
        return self._path


def every_stage() -> list[type[Any]]:
    """The classes in `talops.stages`, found by loading all of its files."""
    found: list[type[Any]] = []
    for info in pkgutil.walk_packages(stages.__path__, f"{stages.__name__}."):
        module = importlib.import_module(info.name)
        found += [
            each
            for each in vars(module).values()
            if inspect.isclass(each) and Stage in each.__mro__ and each.__module__ == info.name
        ]
    return found


def isolate(kind: type[Any], log: Log, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A stage of this class whose attributes and imported functions are stand-ins."""
    for base in kind.__mro__:
        if base.__module__.startswith(f"{stages.__name__}."):
            module = importlib.import_module(base.__module__)
            for name, value in list(vars(module).items()):
                if not inspect.isclass(value) and not _own(value, module.__name__):
                    monkeypatch.setattr(module, name, Anything(log, name))
    stage: Any = object.__new__(type(kind.__name__, (kind,), {"__getattr__": _attribute(log)}))
    stage.name = kind.name
    return stage


def _own(value: object, module: str) -> bool:
    """What the file itself defines, constants, and what has no effect anywhere."""
    if isinstance(value, FunctionType):
        return value.__module__ == module
    plain = (str, int, float, tuple, frozenset, dict, MappingProxyType, type(None))
    return isinstance(value, plain) or (not callable(value) and not inspect.ismodule(value))


def _attribute(log: Log) -> Any:
    return lambda _, name: Anything(log, f"self.{name}")


def changes_of(kind: type[Any], log: Log) -> Iterator[Change]:
    """Changes of the class that `apply` takes: every action of its file, every flag both ways."""
    shape = _shape(kind)
    flags = [f.name for f in fields(shape) if str(f.type) == "bool"]
    others = {
        f.name: Anything(log, f"change.{f.name}")
        for f in fields(shape)
        if f.name not in {*OWN_FIELDS, *flags} and f.default is MISSING
    }
    for action in sorted(_actions(kind)):
        for values in itertools.product((False, True), repeat=len(flags)):
            chosen = dict(zip(flags, values, strict=True))
            own: dict[str, Any] = {**chosen, **others}
            yield shape(action=action, target="demo-w-1", node="demo-w-1", **own)


def _shape(kind: type[Any]) -> type[Change]:
    name = kind.apply.__annotations__.get("change", "Change")
    known: list[type[Change]] = [Change]
    for each in known:
        known += each.__subclasses__()
    return next((each for each in known if each.__name__ == name), Change)


def _actions(kind: type[Any]) -> set[str]:
    """Words that the file of `apply` gives to changes, or compares their action with."""
    module = importlib.import_module(kind.apply.__module__)
    constants = {name: v for name, v in vars(module).items() if isinstance(v, str)}
    found = {"create"}
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        given: list[ast.expr] = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            given = node.args[:1] if node.func.id.endswith("Change") else []
        elif isinstance(node, ast.Compare):
            given = [node.left, *node.comparators]
        for each in given:
            if isinstance(each, ast.Constant) and isinstance(each.value, str):
                found.add(each.value)
            elif isinstance(each, ast.Name) and each.id in constants:
                found.add(constants[each.id])
    return found
