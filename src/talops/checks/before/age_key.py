"""The available age key opens every encrypted file of the repository."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.pipeline.checks import (
    Finding,
    Verdict,
    failed,
    from_error,
    passed,
    skipped,
    warning,
)
from talops.plural import count
from talops.secrets.check import check_repository
from talops.secrets.cluster_key import cluster_key
from talops.secrets.gitfiles import known_files, read_text
from talops.secrets.metadata import is_encrypted_name, recipients_of
from talops.site.site import Site

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.secrets.sops import Sops
    from talops.site.site import ClosedSite

_KINDS = {"cannot open": Verdict.FAILED, "plain secret": Verdict.FAILED}


async def look(site: ClosedSite, *, thorough: bool = False) -> list[Finding]:
    """Compare the recipients in the files; `thorough` decrypts each and finds plain secrets."""
    if not isinstance(site, Site):
        return [skipped("not checked: there is no age key or no sops")]
    sops = site.sops
    if sops.keys is None:
        return [
            failed(
                "there is no age key",
                hint="talops secrets init, or set SOPS_AGE_KEY_FILE to the key file",
            )
        ]
    found = [*await _matched(sops), *_shared(site)]
    return [*found, *await _opened(sops)] if thorough else found


def _shared(site: Site) -> list[Finding]:
    if site.cluster.repository is None or cluster_key(site.credentials):
        return []
    what = "the cluster gets your own age key, which opens every secret of this repository"
    return [warning(what, hint="talops secrets split")]


async def _matched(sops: Sops) -> list[Finding]:
    names = [name for name in await known_files(sops.root) if is_encrypted_name(name)]
    texts = {name: text for name in names if (text := read_text(sops.root, name)) is not None}
    assert sops.keys
    return judge(texts, frozenset(key.recipient for key in sops.keys.keys))


def judge(texts: Mapping[str, str], ours: frozenset[str]) -> list[Finding]:
    found = []
    for name, text in texts.items():
        try:
            recipients = recipients_of(text, name)
        except TalopsError as error:
            found.append(from_error(error))
            continue
        if recipients is None:
            hint = f"sops encrypt --in-place {name}"
            found.append(failed("the name says encrypted, but the file is not", name, hint))
        elif not recipients & ours:
            hint = (
                "use the key that it is encrypted for, or: talops secrets rotate --recipients-only"
            )
            found.append(failed("the file is encrypted for another age key", name, hint))
    return found or [passed(f"the age key opens {count(len(texts), 'encrypted file')}")]


async def _opened(sops: Sops) -> list[Finding]:
    return [
        Finding(_KINDS.get(each.rule, Verdict.WARNING), each.what, str(each.where), each.hint)
        for each in await check_repository(sops)
    ]
