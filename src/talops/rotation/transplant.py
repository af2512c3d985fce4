"""A node's config with only the rotated part of the wanted one. Pure.

What else differs from the inventory is left to `talops up`: a rotation changes nothing but keys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.machineconfig.patches.identity import identify
from talops.machineconfig.secrets.rotating import Rotated

if TYPE_CHECKING:
    from collections.abc import Sequence

    Document = dict[str, Any]

# Where each is in the main document, and the document that replaces it since contract 1.14.
_PLACES: dict[Rotated, tuple[str, tuple[str, ...], str]] = {
    Rotated.TALOS_CA: ("machine", ("ca", "acceptedCAs"), ""),
    Rotated.KUBERNETES_CA: ("cluster", ("ca", "acceptedCAs"), "KubeAPIServerCAConfig"),
    Rotated.SERVICE_ACCOUNT: ("cluster", ("serviceAccount",), "KubeServiceAccountConfig"),
    Rotated.ENCRYPTION: ("cluster", ("secretboxEncryptionSecret",), "KubeEtcdEncryptionConfig"),
}


def transplanted(
    running: Sequence[Document], wanted: Sequence[Document], rotated: Rotated
) -> list[Document]:
    section, keys, kind = _PLACES[rotated]
    source = next(document for document in wanted if identify(document).is_main)
    replacing = {str(d["kind"]): d for d in wanted if kind and d.get("kind") == kind}
    found: list[Document] = []
    for document in running:
        if identify(document).is_main:
            found.append(_main(document, source, section, keys))
        else:
            found.append(replacing.get(str(document.get("kind")), document))
    return found


def _main(running: Document, wanted: Document, section: str, keys: tuple[str, ...]) -> Document:
    given = wanted.get(section) or {}
    own = dict(running.get(section) or {})
    for key in keys:
        if key in given:
            own[key] = given[key]
        else:
            own.pop(key, None)
    return {**running, section: own}
