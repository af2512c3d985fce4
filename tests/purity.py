"""What a module touches outside its own memory: read with `ast`, nothing is run."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# Modules that start programs, open connections or wait.
# fmt: off
SYSTEM = frozenset((
    "asyncio", "ctypes", "fcntl", "getpass", "grpclib", "http", "httpx", "multiprocessing",
    "select", "shutil", "signal", "socket", "ssl", "subprocess", "tempfile", "threading",
    "websockets",
))
# fmt: on
# Members of these modules are the environment and the file system.
PLATFORM = frozenset(["os", "sys", "platform"])
# Members of a platform that do not access it.
HARMLESS = frozenset(["PathLike", "fspath", "sep", "stdlib_module_names", "maxsize"])
# Methods of a path that look at the disk or change it.
# fmt: off
FILES = frozenset((
    "chmod", "cwd", "exists", "expanduser", "glob", "hardlink_to", "home", "is_dir",
    "is_file", "is_symlink", "iterdir", "lstat", "mkdir", "open", "read_bytes", "read_text",
    "readlink", "rename", "resolve", "rglob", "rmdir", "samefile", "stat", "symlink_to",
    "touch", "unlink", "write_bytes", "write_text",
))
# fmt: on


def touches(module: ast.Module) -> set[str]:
    """Names of modules and calls by which it reads or changes the world."""
    return {name for node in ast.walk(module) for name in _touched(node)}


def _touched(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (a.name for a in names if a.name.split(".")[0] in SYSTEM)
        case ast.ImportFrom(module=str(source), level=0, names=names):
            if source.split(".")[0] in SYSTEM:
                yield source
            if source in PLATFORM:
                yield from (f"{source}.{a.name}" for a in names if a.name not in HARMLESS)
        case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner in PLATFORM:
            if name not in HARMLESS:
                yield f"{owner}.{name}"
        case ast.Call(func=ast.Attribute(attr=name)) if name in FILES:
            yield name
        case ast.Call(func=ast.Name(id="open")):
            yield "open"


def fixed_sleeps(module: ast.Module) -> list[int]:
    """Lines that wait for a fixed time, unless it is the pause of a loop that polls."""
    loops = [node for node in ast.walk(module) if _polls(node)]
    pauses = {id(node) for loop in loops for node in ast.walk(loop)}
    return [
        node.lineno
        for node in ast.walk(module)
        if isinstance(node, ast.Call) and _sleeps(node) and id(node) not in pauses
    ]


def _polls(loop: ast.AST) -> bool:
    """`while`, or a `for` over a number of attempts that can be left."""
    if isinstance(loop, ast.For):
        return any(isinstance(node, ast.Return | ast.Break) for node in ast.walk(loop))
    return isinstance(loop, ast.While)


def _sleeps(call: ast.Call) -> bool:
    match call:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="time" | "asyncio"), attr="sleep"),
            args=[ast.Constant(value=int() | float() as seconds)],
        ):
            return seconds > 0
    return False


# fmt: off
BINDS = frozenset((
    "HTTPServer", "TCPServer", "TCPSite", "ThreadingHTTPServer", "bind", "create_server",
    "create_unix_server", "listen", "run_app", "serve", "start_server",
))
# fmt: on
LARGEST_PORT = 65535


def fixed_ports(module: ast.Module) -> list[int]:
    """Lines that listen on a port whose number they contain."""
    return [
        node.lineno
        for node in ast.walk(module)
        if isinstance(node, ast.Call) and _name(node.func) in BINDS and _has_port(node)
    ]


def _name(function: ast.expr) -> str:
    match function:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def _has_port(call: ast.Call) -> bool:
    given = [*call.args, *(k.value for k in call.keywords if k.arg in {"port", "address"})]
    parts = [part for each in given for part in getattr(each, "elts", [each])]
    return any(
        isinstance(part, ast.Constant)
        and type(part.value) is int
        and 0 < part.value <= LARGEST_PORT
        for part in parts
    )
