"""Read user patches and merge them into the documents of a config."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.machineconfig import yamltext
from talops.machineconfig.patches import deletion
from talops.machineconfig.patches.fields import unknown_keys, wrong_kinds
from talops.machineconfig.patches.identity import Identity, fields_of, identify
from talops.machineconfig.patches.merge import merge
from talops.machineconfig.request import Patch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from talops.machineconfig.contract import Contract


def parse_patch(text: str, *, where: str) -> Patch:
    return make_patch(yamltext.load_all(text, where=where), where=where)


def make_patch(documents: Iterable[Any], *, where: str) -> Patch:
    """A valid patch: mappings of known kinds with known fields."""
    checked: list[dict[str, Any]] = []
    for document in documents:
        if isinstance(document, list):
            raise TalopsError(
                "JSON 6902 patches do not work on configs with several documents",
                where=where,
                hint="write it as a strategic merge patch: the fields to change, as a mapping",
            )
        if not isinstance(document, dict):
            raise TalopsError("a patch must be a mapping of fields to change", where=where)
        _check(document, where)
        checked.append(document)
    return Patch(tuple(checked), where)


def _check(document: dict[str, Any], where: str) -> None:
    identity = identify(document)
    if not identity.kind:
        raise TalopsError(
            "a patch must start with machine:, cluster:, or apiVersion: and kind:", where=where
        )
    fields = fields_of(identity)
    if fields is None:
        raise TalopsError(
            f'"{identity.kind}" "{identity.api_version}": not registered',
            where=where,
            hint="check the spelling of `kind`",
        )
    rest = _rest(document, where) or {}
    unknown = unknown_keys(rest, fields)
    if unknown:
        raise TalopsError(
            "unknown keys found during decoding: " + ", ".join(unknown),
            where=where,
            hint="check the spelling against the Talos reference of your version",
        )
    wrong = list(wrong_kinds(rest, fields))
    if wrong:
        raise TalopsError("; ".join(wrong), where=where)


def _rest(document: dict[str, Any], where: str) -> dict[str, Any] | None:
    try:
        return deletion.split(document)[1]
    except TalopsError as error:
        raise TalopsError(error.what, where=where, hint=error.hint) from None


def apply_patches(
    documents: list[dict[str, Any]], patches: Iterable[Patch], contract: Contract | None = None
) -> list[dict[str, Any]]:
    """Documents with the same kind and name are merged, others are appended."""
    result = {identify(document): document for document in documents}
    for patch in patches:
        for document in patch.documents:
            try:
                _apply(result, document, contract)
            except TalopsError as error:
                raise TalopsError(error.what, where=patch.where, hint=error.hint) from None
    return list(result.values())


def _apply(
    result: dict[Identity, dict[str, Any]], document: dict[str, Any], contract: Contract | None
) -> None:
    identity = identify(document)
    fields = fields_of(identity, contract)
    if fields is None:
        raise TalopsError(f'"{identity.kind}" "{identity.api_version}": not registered')
    deletions, rest = deletion.split(document)
    for item in deletions:
        if identity not in result:
            raise TalopsError(
                f"patch delete: document {identity} does not exist",
                hint="remove the patch, or correct its kind and name",
            )
        if item.path:
            result[identity] = deletion.apply(item, result[identity], fields)
        elif identity.is_main:
            raise TalopsError("can't delete the root of the legacy document")
        else:
            del result[identity]
    if rest is not None:
        there = result.get(identity)
        result[identity] = rest if there is None else merge(there, rest, fields)
