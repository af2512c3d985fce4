"""Conditions for the repository and the age key before Flux takes over a cluster."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from talops.delivery.gitrepo import GitAccess, snapshot
from talops.errors import DeniedError, TalopsError
from talops.gitops import flux
from talops.gitops.deploykey import GITHUB_HOSTS, VAULT_NAME
from talops.secrets.age import KeyRing
from talops.secrets.gitfiles import known_files, read_text
from talops.secrets.metadata import is_encrypted_name, recipients_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from talops.delivery.flux_keys import FluxKeys
    from talops.inventory.model import Repository
    from talops.redaction import Secret
    from talops.secrets.sops import Sops
    from talops.site.site import Site

AT_ONCE = 4
TOKEN_NAME, USER_NAME = "git_token", "git_username"


@dataclass(frozen=True)
class CheckedBranch:
    """The branch as Flux will see it; the plain value of `canary` must arrive.

    `waiting`: files that the cluster's own key does not open yet, here or in the branch.
    """

    commit: str
    canary: Secret | None
    waiting: tuple[str, ...] = ()


def access(site: Site, repository: Repository) -> GitAccess | None:
    """The credentials for the repository; None if they do not exist yet."""
    kept = site.credentials
    ca = site.root / repository.ca_file if repository.ca_file else None
    path = site.environment.get("PATH") or os.defpath
    plain = GitAccess(repository.url, repository.branch, ca, path=path)
    if repository.credentials == "deploy-key":
        key = kept.get(VAULT_NAME)
        return replace(plain, key=key, known_hosts=known_hosts(site, repository)) if key else None
    if repository.credentials == "token":
        if TOKEN_NAME not in kept:
            raise DeniedError(
                "the repository is private, and there is no token to read it",
                where=repository.url,
                hint=f"talops secrets set {TOKEN_NAME}",
            )
        user = kept[USER_NAME].reveal() if USER_NAME in kept else "git"
        return replace(plain, username=user, token=kept[TOKEN_NAME])
    return plain


def known_hosts(site: Site, repository: Repository) -> str:
    if repository.known_hosts:
        return read_named(site.root / repository.known_hosts, "gitops.known_hosts")
    if "@github.com/" in repository.url:
        return GITHUB_HOSTS
    raise TalopsError(
        "the SSH host key of the Git server is not known",
        where=repository.url,
        hint="run ssh-keyscan, check its output, and set gitops.known_hosts to the file with it",
    )


def read_named(path: Path, key: str) -> str:
    """A file that the inventory refers to."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TalopsError(
            f"cannot be read: {error}", where=str(path), hint=f"correct {key} in cluster.yaml"
        ) from error


async def check(
    site: Site, repository: Repository, reader: GitAccess, keys: FluxKeys
) -> CheckedBranch:
    """Every encrypted file, local or in the branch, must open with a key of the cluster."""
    here = {
        name: text
        for name in await known_files(site.root)
        if is_encrypted_name(name) and (text := read_text(site.root, name)) is not None
    }
    known = await _open_all(site.sops, keys.concerning(here), keys, "")
    async with snapshot(reader) as branch:
        inside = [n for n in branch.files if n.startswith(f"{repository.path}/")]
        if not inside:
            raise TalopsError(
                f"branch {repository.branch} has no folder {repository.path}",
                where=repository.url,
                hint="talops gitops init, then commit and push",
            )
        names = [name for name in branch.files if is_encrypted_name(name)]
        texts = keys.concerning({name: await branch.text(name) for name in names})
        same = {name: known[name] for name, text in texts.items() if here.get(name) == text}
        others = {name: text for name, text in texts.items() if name not in same}
        place = f"{repository.url}@{repository.branch}:"
        opened = {**same, **await _open_all(site.sops, others, keys, place)}
        local = [name for name, file in known.items() if file.waiting]
        pushed = [name for name, file in opened.items() if file.waiting]
        canary = canary_of({name: file.plain for name, file in opened.items()}, repository.path)
        return CheckedBranch(branch.commit, canary, tuple(sorted({*local, *pushed})))


def canary_of(opened: Mapping[str, str], path: str) -> Secret | None:
    from talops.redaction import Secret as Text

    name = f"{path}/{flux.CANARY_FILE}"
    if name not in opened:
        return None
    try:
        return Text(str(YAML(typ="safe").load(opened[name])["stringData"]["canary"]))
    except (YAMLError, KeyError, TypeError):
        raise TalopsError(
            "the canary has no value to compare",
            where=name,
            hint="remove it, then: talops gitops init",
        ) from None


@dataclass(frozen=True)
class _Opened:
    """`waiting`: not with the key of the cluster, but with the one that it replaces."""

    plain: str
    waiting: bool


async def _open_all(
    sops: Sops, texts: Mapping[str, str], keys: FluxKeys, place: str
) -> dict[str, _Opened]:
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(name: str, text: str) -> tuple[str, _Opened]:
        recipients = recipients_of(text, name)
        if recipients is None:
            raise TalopsError(
                "the name says encrypted, but the file is not",
                where=place + name,
                hint="talops secrets check",
            )
        waiting = keys.waits(recipients)
        ring = KeyRing(keys.old if waiting else (keys.goal,))
        async with gate:
            try:
                plain = await replace(sops, keys=ring).decrypt_text(text, sops.root / name)
            except TalopsError as error:
                raise type(error)(
                    error.what, where=place + name, hint=keys.hint or error.hint
                ) from None
        _check_sizes(plain, place + name)
        return name, _Opened(plain, waiting)

    return dict(await asyncio.gather(*(one(name, text) for name, text in texts.items())))


def _check_sizes(plain: str, where: str) -> None:
    """Flux would reject a Secret that is too large only after the handover."""
    if len(plain) <= flux.LARGEST_SECRET:
        return
    try:
        documents = list(YAML(typ="safe").load_all(plain))
    except YAMLError:
        return
    for document in documents:
        if isinstance(document, dict) and document.get("kind") == "Secret":
            flux.check_size(document, where)
