"""Simulated source-controller: really fetches, and writes the same status as the real one."""

from __future__ import annotations

import asyncio
import base64
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.lab.flux.status import hold, let_go, report

if TYPE_CHECKING:
    from talops.lab.kubernetes.api import KubeApi

Object = dict[str, Any]
MANAGER = "source-controller"


class SimulatedSource:
    """Checkouts are under `folder`, one per repository and commit."""

    def __init__(self, api: KubeApi, folder: Path) -> None:
        self._api = api
        self._folder = folder

    def checkout(self, repository: Object) -> tuple[str, Path] | None:
        artifact = (repository.get("status") or {}).get("artifact") or {}
        revision = artifact.get("revision", "")
        path = self._folder / revision.rpartition(":")[2] if revision else None
        return (revision, path) if path and path.is_dir() else None

    async def reconcile(self, path: str, repository: Object) -> None:
        if repository["metadata"].get("deletionTimestamp"):
            await let_go(self._api, path, repository, MANAGER)
            return
        await hold(self._api, path, repository, MANAGER)
        try:
            revision = await self._fetch(repository)
        except TalopsError as error:
            await report(self._api, path, repository, MANAGER, "GitOperationFailed", error.what)
            return
        more = {"artifact": {"revision": revision, "path": f"{revision}.tar.gz"}}
        words = f"stored artifact for revision '{revision}'"
        await report(self._api, path, repository, MANAGER, "", words, **more)

    async def _fetch(self, repository: Object) -> str:
        spec = repository["spec"]
        branch = (spec.get("ref") or {}).get("branch", "master")
        secret = await self._secret(repository)
        with tempfile.TemporaryDirectory(prefix="talops-lab-flux-") as name:
            folder = Path(name)
            work = folder / "work"
            settings = _settings(secret, folder)
            clone = [*settings, "clone", "--quiet", "--depth=1", "--branch", branch]
            await _git(clone, _ssh(secret, folder))(spec["url"], str(work))
            commit = (await _git(["-C", str(work), "rev-parse", "HEAD"])()).strip()
            target = self._folder / commit
            if not target.exists():
                shutil.rmtree(work / ".git")
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.move(work, target)
        return f"{branch}@sha1:{commit}"

    async def _secret(self, repository: Object) -> dict[str, str]:
        name = (repository["spec"].get("secretRef") or {}).get("name")
        if not name:
            return {}
        place = repository["metadata"]["namespace"]
        found = await self._api.get(f"/api/v1/namespaces/{place}/secrets/{name}")
        if found is None:
            raise TalopsError(f"failed to get secret '{place}/{name}': not found")
        return {k: base64.b64decode(v).decode() for k, v in (found.get("data") or {}).items()}


def _settings(secret: dict[str, str], folder: Path) -> list[str]:
    """Both files live as long as one fetch, in a private directory."""
    settings = ["-c", "credential.helper="]
    if "ca.crt" in secret:
        (folder / "ca.crt").write_text(secret["ca.crt"])
        settings += ["-c", f"http.sslCAInfo={folder}/ca.crt"]
    if "password" in secret:
        text = f"username={secret.get('username', 'git')}\npassword={secret['password']}\n"
        (folder / "credentials").write_text(text)
        settings += ["-c", f"credential.helper=!cat {folder}/credentials;:"]
    return settings


def _ssh(secret: dict[str, str], folder: Path) -> dict[str, str]:
    """A deploy key is used as in the real one: only with the host keys of its Secret."""
    if "identity" not in secret:
        return {}
    key, hosts = folder / "identity", folder / "known_hosts"
    key.touch(mode=0o600)
    key.write_text(secret["identity"])
    hosts.write_text(secret.get("known_hosts", ""))
    options = f"-o IdentitiesOnly=yes -o BatchMode=yes -o UserKnownHostsFile={hosts}"
    return {"GIT_SSH_COMMAND": f"ssh -F /dev/null -i {key} {options}"}


def _git(words: list[str], more: dict[str, str] | None = None) -> Any:
    plain = more or {}

    async def run(*rest: str) -> str:
        process = await asyncio.create_subprocess_exec(
            "git",
            *words,
            *rest,
            env={"PATH": os.defpath, "HOME": "/nonexistent", "GIT_TERMINAL_PROMPT": "0", **plain},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        if process.returncode:
            lines = err.decode(errors="replace").strip().splitlines()
            raise TalopsError(f"failed to checkout: {lines[-1] if lines else 'git failed'}")
        return out.decode()

    return run
