"""The files that Git tracks, and the content of the next commit."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from talops.errors import ToolError
from talops.gitcommand import git

_NO_REPOSITORY = 128
# Without Git these are skipped; the private files are those that Git would ignore.
_NOT_OURS = {".git", ".talops", ".venv", ".terraform", "node_modules"}
_PRIVATE = {"age.key", "kubeconfig", "talosconfig"}


async def tracked_files(root: Path) -> list[str]:
    """Tracked files; without a repository every file below `root`."""
    return await _listed(root, "--cached")


async def known_files(root: Path) -> list[str]:
    """Tracked files, and new ones that are not ignored."""
    return await _listed(root, "--cached", "--others", "--exclude-standard")


async def staged_files(root: Path) -> dict[str, str]:
    """Path and text of the files that the next commit adds or changes, except binary files."""
    words = ("diff", "--cached", "--name-only", "--diff-filter=ACMR", "--relative", "-z")
    code, out = await _git(root, *words, "--no-ext-diff", "--no-textconv")
    if code:
        raise ToolError("not a Git repository", where=str(root), hint="git init")
    texts: dict[str, str] = {}
    for name in _split(out):
        # `git show` would run a program that the repository names to convert the file.
        code, content = await _git(root, "cat-file", "blob", f":./{name}")
        if not code and b"\0" not in content:
            texts[name] = content.decode(errors="replace")
    return texts


async def hooks_directory(root: Path) -> Path | None:
    """None outside a repository, and if hooks are shared with other repositories."""
    words = ("rev-parse", "--git-common-dir", "--git-path", "hooks")
    code, out = await _git(root, *words, hooks=True)
    if code:
        return None
    own, hooks = (_real(root / line) for line in out.decode().splitlines())
    return hooks if hooks.is_relative_to(own) and _around(root, own) else None


def _real(path: Path) -> Path:
    return path.resolve()


def _around(root: Path, own: Path) -> bool:
    """Whether this is the `.git` of the tree itself: its name or its files may point elsewhere."""
    places = [folder / ".git" for folder in (_real(root), *_real(root).parents)]
    return own in [place for place in places if place.is_dir() and not place.is_symlink()]


def read_text(root: Path, name: str) -> str | None:
    """None for a binary file, a symlink or a tracked file that does not exist."""
    path = root / name
    if path.is_symlink() or not path.is_file():
        return None
    content = path.read_bytes()
    return None if b"\0" in content else content.decode(errors="replace")


async def _listed(root: Path, *flags: str) -> list[str]:
    code, out = await _git(root, "ls-files", "-z", *flags)
    return sorted(set(_split(out))) if not code else _walk(root)


def _walk(root: Path) -> list[str]:
    found: list[str] = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in _NOT_OURS]
        found += [
            str((Path(folder) / name).relative_to(root)) for name in files if name not in _PRIVATE
        ]
    return sorted(found)


def _split(out: bytes) -> list[str]:
    return [name.decode(errors="surrogateescape") for name in out.split(b"\0") if name]


async def _git(root: Path, *words: str, hooks: bool = False) -> tuple[int, bytes]:
    """The environment is inherited: inside a hook Git uses it to pass the index."""
    try:
        process = await asyncio.create_subprocess_exec(
            *git(*words, hooks=hooks),
            cwd=root,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except FileNotFoundError:
        return _NO_REPOSITORY, b""
    out, err = await process.communicate()
    code = process.returncode or 0
    if code not in (0, _NO_REPOSITORY):
        reason = err.decode(errors="replace").strip().splitlines()[-1:]
        raise ToolError(f"git {words[0]} failed: {' '.join(reason)}", where=str(root))
    return code, out
