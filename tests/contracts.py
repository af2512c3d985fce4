"""What the source of a stage says about its contract: read with `ast`, nothing is run."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

Function = ast.FunctionDef | ast.AsyncFunctionDef

# Reading the world, the clock or the machine: facts, so a matter of `observe`.
LOOKING = frozenset(
    [
        "open",
        "read_text",
        "read_bytes",
        "read_record",
        "read_snapshot",
        "exists",
        "is_file",
        "is_dir",
        "glob",
        "iterdir",
        "getuser",
        "gethostname",
        "getenv",
        "now",
        "monotonic",
    ]
)
# Changing the world: a matter of `apply`.
CHANGING = frozenset(
    [
        "unlink",
        "rmtree",
        "mkdir",
        "rename",
        "write",
        "write_atomic",
        "write_text",
        "write_bytes",
        "apply_all",
        "merge",
        "delete",
        "create",
        "ensure",
        "register",
        "bring",
        "wipe",
        "reset",
        "reboot",
        "bootstrap",
        "remove_member",
        "import_resource",
        "untaint",
        "state_push",
        "unlock",
        "apply",
        "conclude",
        "_record",
    ]
)
# Ways to look into a text.
# fmt: off
SEARCHING = frozenset((
    "count", "endswith", "find", "findall", "finditer", "fullmatch", "index", "match", "partition",
    "removeprefix", "removesuffix", "rpartition", "search", "split", "startswith",
))
# fmt: on
MUTATING = frozenset(
    [
        "add",
        "append",
        "clear",
        "discard",
        "extend",
        "pop",
        "popitem",
        "remove",
        "setdefault",
        "update",
    ]
)


@dataclass(frozen=True)
class Source:
    """A class with what it inherits from other stages, and the functions of its file."""

    name: str
    methods: Mapping[str, Function]
    functions: Mapping[str, Function]

    def reached(self, start: str) -> list[Function]:
        """`start`, and what it uses of its own class and file."""
        found: dict[str, Function] = {}
        open_ends = [self.methods[start]]
        while open_ends:
            function = open_ends.pop()
            if found.setdefault(function.name, function) is function:
                open_ends += [f for f in self._used(function) if f.name not in found]
        return list(found.values())

    def _used(self, function: Function) -> Iterator[Function]:
        for node in ast.walk(function):
            if own := attribute_of_self(node):
                yield from [self.methods[own]] if own in self.methods else []
            elif isinstance(node, ast.Name) and node.id in self.functions:
                yield self.functions[node.id]

    @property
    def remembered(self) -> set[str]:
        """Attributes that are given a value or changed after the stage was made."""
        later = [f for name, f in self.methods.items() if name != "__init__"]
        return {name for function in later for name in changed_of_self(function)}


def attribute_of_self(node: ast.AST) -> str | None:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return node.attr if node.value.id == "self" else None
    return None


def changed_of_self(function: Function) -> Iterator[str]:
    """Attributes of `self` that are set, deleted, or changed in place."""
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            yield from filter(None, [attribute_of_self(node)])
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            yield from filter(None, [attribute_of_self(node.value)])
        elif owner := owner_of_call(node, MUTATING):
            yield from filter(None, [attribute_of_self(owner)])


def owner_of_call(node: ast.AST, names: frozenset[str]) -> ast.expr | None:
    """`x` in a call `x.name(…)` of one of the names."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.value if node.func.attr in names else None
    return None


def called(function: Function) -> Iterator[str]:
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                yield node.func.attr
            elif isinstance(node.func, ast.Name):
                yield node.func.id


def stages_in(modules: Iterable[ast.Module]) -> list[Source]:
    """The classes that inherit from `Stage`, each with what its bases define."""
    classes = [
        (node, {f.name: f for f in module.body if isinstance(f, Function)})
        for module in modules
        for node in module.body
        if isinstance(node, ast.ClassDef)
    ]
    found: dict[str, Source] = {}
    grown = True
    while grown:
        grown = False
        for node, functions in classes:
            bases = [_name(base) for base in node.bases]
            parents = [found[base] for base in bases if base in found]
            if node.name in found or not (parents or "Stage" in bases):
                continue
            own = {f.name: f for f in node.body if isinstance(f, Function)}
            inherited = {k: v for parent in parents for k, v in parent.methods.items()}
            around = {k: v for parent in parents for k, v in parent.functions.items()}
            found[node.name] = Source(node.name, inherited | own, around | functions)
            grown = True
    return list(found.values())


def _name(base: ast.expr) -> str:
    inner = base.value if isinstance(base, ast.Subscript) else base
    return inner.id if isinstance(inner, ast.Name) else ""


def impurities(stage: Source) -> list[str]:
    """What `plan` does beside turning facts into changes."""
    found = []
    for function in stage.reached("plan"):
        where = f"{stage.name}.plan, in {function.name}"
        if isinstance(function, ast.AsyncFunctionDef):
            found.append(f"{where}: is asynchronous")
        read = {name for node in ast.walk(function) if (name := attribute_of_self(node))}
        found += [f"{where}: sets self.{name}" for name in changed_of_self(function)]
        found += [f"{where}: remembers self.{name}" for name in sorted(read & stage.remembered)]
        found += [f"{where}: reports" for name in read if "report" in name]
        found += [f"{where}: calls {n}" for n in called(function) if n in LOOKING | CHANGING]
    return found


def effects(stage: Source) -> list[str]:
    """What `verify` does beside looking."""
    own = stage.methods["verify"]
    found = [f"{stage.name}.verify: sets self.{name}" for name in changed_of_self(own)]
    return found + [
        f"{stage.name}.verify, in {function.name}: calls {name}"
        for function in stage.reached("verify")
        for name in called(function)
        if name in CHANGING
    ]


def members_read(module: ast.Module) -> set[str]:
    """Attributes of what is called a stage; getattr and its like count as undeclared."""
    found = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Attribute):
            value = node.value
            name = value.id if isinstance(value, ast.Name) else getattr(value, "attr", "")
            if name in {"stage", "_stage", "made"}:
                found.add(node.attr)
        elif isinstance(node, ast.Name) and node.id in {"getattr", "hasattr", "setattr"}:
            found.add(node.id)
    return found


def members_declared(module: ast.Module) -> set[str]:
    """What the protocol in `pipeline/stage.py` names."""
    body = next(n.body for n in module.body if isinstance(n, ast.ClassDef) and n.name == "Stage")
    named = {
        n.target.id for n in body if isinstance(n, ast.AnnAssign) if isinstance(n.target, ast.Name)
    }
    return named | {n.name for n in body if isinstance(n, Function)}


def decided_by_text(module: ast.Module, texts: frozenset[str]) -> list[str]:
    """Comparisons, searches and conditions that depend on attributes with sentences for people."""
    return [
        f"line {each.lineno}: .{each.attr}"
        for node in ast.walk(module)
        for each in _deciding(node)
        if isinstance(each, ast.Attribute) and each.attr in texts
    ]


def _deciding(node: ast.AST) -> Iterator[ast.expr]:
    match node:
        case ast.Compare(left=left, comparators=others):
            yield from [left, *others]
        case ast.Match(subject=subject):
            yield subject
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield from _conditions(test)
        case ast.comprehension(ifs=tests):
            for test in tests:
                yield from _conditions(test)
        case ast.Call(args=args) if owner := owner_of_call(node, SEARCHING):
            yield from [owner, *args]


def _conditions(test: ast.expr) -> Iterator[ast.expr]:
    """The details of changes that must be empty or not, inside `and`, `or` and `not`."""
    match test:
        case ast.BoolOp(values=values):
            for value in values:
                yield from _conditions(value)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from _conditions(operand)
        case ast.Attribute(attr="detail"):
            yield test


# What belongs to a face: its environment, its terminal, its event loop and its end.
_OF_A_FACE = frozenset(
    [
        *("os.environ", "os.environb", "os.getenv"),
        *("sys.stdin", "sys.stdout", "sys.stderr", "sys.argv", "sys.exit", "os._exit"),
        *("asyncio.run", "asyncio.Runner", "print", "input", "breakpoint", "exit", "quit"),
    ]
)


def of_a_face(module: ast.Module) -> list[str]:
    """Where a module reads the environment, prints, asks, exits or starts an event loop."""
    found = []
    for node in ast.walk(module):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name = f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            name = node.func.id
        elif isinstance(node, ast.ImportFrom) and node.module in {"os", "sys", "asyncio"}:
            found += [
                f"line {node.lineno}: {node.module}.{alias.name}"
                for alias in node.names
                if f"{node.module}.{alias.name}" in _OF_A_FACE
            ]
            continue
        else:
            continue
        if name in _OF_A_FACE:
            found.append(f"line {node.lineno}: {name}")
    return found


def not_a_list(module: ast.Module) -> list[str]:
    """Why the module of a workflow is not one function that returns literal lists of stages."""
    public = [
        node for node in module.body if isinstance(node, Function) and not node.name.startswith("_")
    ]
    if len(public) != 1:
        return [f"has {len(public)} public functions"]
    returned = [node.value for node in ast.walk(public[0]) if isinstance(node, ast.Return)]
    return [
        f"line {value.lineno if value else public[0].lineno}: returns no literal list"
        for value in returned
        if not isinstance(value, ast.List)
    ] or ([] if returned else ["returns nothing"])


def reads(module: ast.Module, name: str) -> bool:
    """Whether an attribute of this name is read anywhere, also by `getattr` and `asdict`."""
    return any(
        (isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load))
        or (isinstance(node, ast.MatchClass) and name in node.kwd_attrs)
        or (isinstance(node, ast.Constant) and node.value == name)
        for node in ast.walk(module)
    )


def long_functions(module: ast.Module, limit: int) -> list[str]:
    """Functions of more lines than `limit`."""
    return [
        f"{node.name} has {lines} lines"
        for node in ast.walk(module)
        if isinstance(node, Function)
        if (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > limit
    ]


def defined_twice(modules: Mapping[str, ast.Module], concepts: frozenset[str]) -> dict[str, int]:
    """How many classes have the name of a concept, if it is not exactly one."""
    names = [
        node.name
        for module in modules.values()
        for node in ast.walk(module)
        if isinstance(node, ast.ClassDef)
    ]
    return {name: found for name in sorted(concepts) if (found := names.count(name)) != 1}
