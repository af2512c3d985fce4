"""The secrets of a cluster before and after each phase of a rotation. Pure."""

from __future__ import annotations

import base64
import re
import secrets
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from talops.machineconfig.secrets import pki
from talops.machineconfig.secrets.pki import Pair
from talops.machineconfig.secrets.rotating import Phase, Rotated, Rotation
from talops.redaction import Secret

if TYPE_CHECKING:
    from datetime import datetime

    from talops.machineconfig.secrets.bundle import Bundle

_BOX_BYTES = 32
NEXT = {Phase.ACCEPT: Phase.ISSUE, Phase.ISSUE: Phase.DROP}


def begin(bundle: Bundle, rotated: Rotated, now: datetime) -> Bundle:
    """With a new one that is to be accepted. A rotation that has begun stays as it is."""
    if rotated in bundle.rotations:
        return bundle
    made = Rotation(Phase.ACCEPT, _new(bundle, rotated, now), _name(bundle, rotated))
    return replace(bundle, rotations={**bundle.rotations, rotated: made})


def advance(bundle: Bundle, rotated: Rotated) -> Bundle:
    """In the next phase; after the last one, without the old one."""
    rotation = bundle.rotations[rotated]
    if rotation.phase is Phase.DROP:
        rest = {name: each for name, each in bundle.rotations.items() if name != rotated}
        return replace(bundle, rotations=rest)
    if rotation.phase is Phase.ISSUE:
        return _with(bundle, rotated, replace(rotation, phase=Phase.DROP))
    old = used(bundle, rotated)
    name = bundle.secretbox_name if rotated is Rotated.ENCRYPTION else ""
    moved = _using(bundle, rotated, rotation)
    return _with(moved, rotated, Rotation(Phase.ISSUE, old, name))


def used(bundle: Bundle, rotated: Rotated) -> Pair:
    """The one in use."""
    return {
        Rotated.TALOS_CA: bundle.os,
        Rotated.KUBERNETES_CA: bundle.k8s,
        Rotated.SERVICE_ACCOUNT: Pair("", bundle.service_account),
        Rotated.ENCRYPTION: Pair("", bundle.secretbox),
    }[rotated]


def _with(bundle: Bundle, rotated: Rotated, rotation: Rotation) -> Bundle:
    return replace(bundle, rotations={**bundle.rotations, rotated: rotation})


def _using(bundle: Bundle, rotated: Rotated, rotation: Rotation) -> Bundle:
    new = rotation.other
    if rotated is Rotated.TALOS_CA:
        return replace(bundle, os=new)
    if rotated is Rotated.KUBERNETES_CA:
        return replace(bundle, k8s=new)
    if rotated is Rotated.SERVICE_ACCOUNT:
        return replace(bundle, service_account=new.key)
    return replace(bundle, secretbox=new.key, secretbox_name=rotation.name)


def _new(bundle: Bundle, rotated: Rotated, now: datetime) -> Pair:
    if rotated is Rotated.SERVICE_ACCOUNT:
        return Pair("", pki.service_account_key())
    if rotated is Rotated.ENCRYPTION:
        return Pair("", Secret(base64.b64encode(secrets.token_bytes(_BOX_BYTES)).decode()))
    # Which of two CAs is the newer one shows in which direction nodes change: a clock that is slow
    # must not make the new one look old.
    start = used(bundle, rotated).certificate.not_valid_before_utc
    since = max(now, start + timedelta(seconds=1))
    make = pki.talos_ca if rotated is Rotated.TALOS_CA else pki.kubernetes_ca
    return make(since)


def _name(bundle: Bundle, rotated: Rotated) -> str:
    """Of an encryption key: values in etcd refer to the old one by its own name."""
    if rotated is not Rotated.ENCRYPTION:
        return ""
    number = re.search(r"[0-9]+$", bundle.secretbox_name)
    return f"key{int(number[0]) + 1 if number else 3}"
