"""Gates of the user: expressions on live objects, Kubernetes Jobs, and commands."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import time
from typing import TYPE_CHECKING, Any

from talops.environment import without_keys
from talops.errors import TalopsError
from talops.kube.objects import Ref, read_manifest
from talops.rolls.expressions import holds
from talops.rolls.gates import Gate
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path

    from talops.inventory.operating import Gate as Settings
    from talops.inventory.operating import GateObject
    from talops.kube.client import KubeClient
    from talops.kube.objects import Object
    from talops.rolls.gates import Absence
    from talops.rolls.kube_access import KubeAccess
    from talops.site.site import Site

# Jobs and commands that did not pass are repeated after this many seconds.
REPEAT_SECONDS = 30.0
# Longer reasons are cut.
LONGEST = 256
NAME_LIMIT = 40
POLL_SECONDS = 1.0


def user_gates(site: Site, access: KubeAccess) -> list[Gate]:
    """In the order of cluster.yaml."""
    return [_gate(settings, site, access) for settings in site.cluster.gates]


def _gate(settings: Settings, site: Site, access: KubeAccess) -> Gate:
    if settings.expression:
        return ExpressionGate(settings, access)
    if settings.job:
        return Repeated(settings.name, lambda: job(settings, site.root, access))
    return Repeated(settings.name, lambda: command(settings, site))


class ExpressionGate(Gate):
    """Every selected object satisfies the expression; an object that does not exist fails it."""

    def __init__(self, settings: Settings, access: KubeAccess) -> None:
        self.name = settings.name
        self._settings = settings
        self._access = access

    async def closed(self, absence: Absence) -> str:  # noqa: ARG002  (the same for all nodes)
        wanted, expression = self._settings.object, self._settings.expression
        assert wanted
        assert expression
        async with self._access.open() as kube:
            found = await _objects(kube, wanted)
        if not found:
            return f"no {wanted.kind} {wanted.name or ''} was found".replace("  ", " ")
        failing = [_title(obj) for obj in found if not holds(expression, obj, self.name)]
        return f"{expression} is false for {', '.join(failing)}" if failing else ""


class Repeated(Gate):
    """A gate whose check costs something: the reason of the last attempt counts for a while."""

    def __init__(
        self,
        name: str,
        attempt: Callable[[], Awaitable[str]],
        pause: float = REPEAT_SECONDS,
    ) -> None:
        self.name = name
        self._attempt = attempt
        self._pause = pause
        self._reason = ""
        self._until = 0.0

    async def closed(self, absence: Absence) -> str:  # noqa: ARG002  (the same for all nodes)
        if self._reason and time.monotonic() < self._until:
            return self._reason
        self._reason = (await self._attempt())[:LONGEST]
        self._until = time.monotonic() + self._pause
        return self._reason


async def command(settings: Settings, site: Site) -> str:
    """The last line that the program wrote, if it fails; it runs in the directory of the site."""
    words = settings.command or []
    environment = {**without_keys(site.environment), "KUBECONFIG": str(site.kubeconfig)}
    try:
        process = await asyncio.create_subprocess_exec(
            *words,
            cwd=site.root,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise TalopsError(
            f"cannot start {words[0]}: {error.strerror}",
            where=f"gate {settings.name}",
            hint="correct command of this gate in cluster.yaml",
        ) from error
    try:
        async with asyncio.timeout(settings.timeout):
            said, _ = await process.communicate()
    except TimeoutError:
        return f"{words[0]} did not end within {settings.timeout} s"
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # with what it has started
            await process.wait()
    if process.returncode == 0:
        return ""
    lines = site.redact(said.decode(errors="replace")).split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "no output")
    return f"{words[0]} ended with {process.returncode}: {last}"


async def job(settings: Settings, root: Path, access: KubeAccess) -> str:
    """A new Job from the file, which is removed again."""
    body = _job(settings, root)
    ref = Ref.of(body)
    async with access.open() as kube:
        await kube.apply(body)
        try:
            return await _finished(kube, ref, settings.timeout)
        finally:
            await kube.delete(ref)


def _job(settings: Settings, root: Path) -> Object:
    name = settings.job or ""
    try:
        text = (root / name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TalopsError(
            f"cannot read the Job: {error}", where=name, hint="talops check"
        ) from error
    objects = read_manifest(text, name)
    if [obj["kind"] for obj in objects] != ["Job"]:
        raise TalopsError(
            f"the file of gate {settings.name} does not contain exactly one Job",
            where=name,
            hint="put one object of kind Job there",
        )
    found = objects[0]
    meta = dict(found["metadata"])
    meta["name"] = f"{str(meta['name'])[:NAME_LIMIT]}-{secrets.token_hex(4)}"
    meta.setdefault("namespace", "default")
    # If talops is killed, Kubernetes ends and removes it.
    spec = {"ttlSecondsAfterFinished": 600, "activeDeadlineSeconds": settings.timeout}
    return {**found, "metadata": meta, "spec": {**spec, **found["spec"]}}


async def _finished(kube: KubeClient, ref: Ref, limit: float) -> str:
    async def probe() -> Ready[str] | NotYet:
        status: Mapping[str, Any] = (await kube.get(ref) or {}).get("status") or {}
        for found in status.get("conditions") or []:
            if found.get("status") == "True" and found.get("type") in {"Complete", "Failed"}:
                failed = found["type"] == "Failed"
                reason = found.get("message") or found.get("reason") or ""
                return Ready(f"{ref} failed: {reason}" if failed else "")
        return NotYet(f"{status.get('active', 0)} pods run")

    with contextlib.suppress(TalopsError):
        return await wait_for(f"{ref} to complete", probe, timeout=limit, interval=POLL_SECONDS)
    return f"{ref} did not complete within {limit:.0f} s"


async def _objects(kube: KubeClient, wanted: GateObject) -> list[Object]:
    if wanted.name:
        found = await kube.get(Ref(wanted.api_version, wanted.kind, wanted.name, wanted.namespace))
        return [found] if found else []
    return await kube.list_all(wanted.api_version, wanted.kind, namespace=wanted.namespace)


def _title(obj: Object) -> str:
    meta = obj["metadata"]
    return "/".join(filter(None, [meta.get("namespace"), meta["name"]]))
