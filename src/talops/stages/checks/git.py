"""The repository that Flux will read can be reached from here."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from talops.pipeline.checks import failed, passed, skipped, warning

if TYPE_CHECKING:
    from talops.inventory.model import Repository
    from talops.pipeline.checks import Finding
    from talops.stages.checks.ground import Ground

SECONDS = 20.0
MISSING = 127


async def look(ground: Ground) -> list[Finding]:
    repository = ground.cluster.repository
    if repository is None:
        return [skipped("the inventory names no repository")]
    code, url = await _git(ground, "remote", "get-url", "origin")
    if code == MISSING:
        return [failed("git is not installed")]
    if code:
        hint = f"git init, then git remote add origin <address of {repository.name}>"
        return [warning("this directory has no remote called origin", str(ground.root), hint)]
    code, heads = await _git(ground, "ls-remote", "--heads", "origin")
    return judge(repository, url, code, heads)


def judge(repository: Repository, url: str, code: int, answer: str) -> list[Finding]:
    if code:
        reason = (answer.splitlines() or [f"exit code {code}"])[-1]
        return [failed(f"origin cannot be read: {reason}", url, "git ls-remote origin")]
    branches = {line.split("refs/heads/")[-1] for line in answer.splitlines()}
    if repository.branch not in branches:
        hint = f"git push origin {repository.branch}"
        return [warning(f"has no branch {repository.branch} yet", url, hint)]
    return [passed(f"origin answers and has {repository.branch}")]


async def _git(ground: Ground, *words: str) -> tuple[int, str]:
    """Nobody is asked for a password: a question is an answer too."""
    try:
        process = await asyncio.create_subprocess_exec(
            "git",
            *words,
            cwd=ground.root,
            env={**ground.environment, "GIT_TERMINAL_PROMPT": "0"},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except FileNotFoundError:
        return MISSING, ""
    try:
        async with asyncio.timeout(SECONDS):
            out, err = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return 1, f"no answer in {SECONDS:.0f} s"
    text = (err if process.returncode else out).decode(errors="replace").strip()
    return process.returncode or 0, text
