"""Which keys the cluster must hold, from what it holds, the files and what Flux has applied."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from talops.delivery.flux_keys import FluxKeys, flux_keys
from talops.errors import DeniedError, TalopsError
from talops.redaction import Secret
from talops.secrets.age import AgeKey, KeyRing
from talops.secrets.cluster_key import CURRENT, NEXT, flux_folder

if TYPE_CHECKING:
    from tests.examples import Example

ME, OWN, OTHER = (AgeKey.generate() for _ in range(3))
KEYS = FluxKeys(OWN, (ME,), "kubernetes")
FILE = ("kubernetes/a.sops.yaml",)


@pytest.mark.parametrize(
    ("live", "waiting", "applied", "held"),
    [
        ((), (), False, (OWN,)),
        ((OWN,), (), False, (OWN,)),
        ((ME,), (), False, (OWN, ME)),
        ((ME,), (), True, (OWN,)),
        ((ME, OWN), FILE, True, (OWN, ME)),
        ((ME, OWN), FILE, False, (OWN, ME)),
        ((ME, OWN), (), False, (OWN, ME)),
        ((ME, OWN), (), True, (OWN,)),
        ((OTHER,), (), False, (OWN, OTHER)),
    ],
)
def test_an_old_key_stays_until_flux_needs_it_no_more(
    live: tuple[AgeKey, ...], waiting: tuple[str, ...], applied: bool, held: tuple[AgeKey, ...]
) -> None:
    """Every row in which Flux has only files for the old key keeps it."""
    assert KEYS.to_hold(live, waiting, applied=applied) == held


@pytest.mark.parametrize("live", [(), (OWN,)])
def test_the_operators_key_never_comes_back(live: tuple[AgeKey, ...]) -> None:
    """Not even for a file that nothing else opens."""
    with pytest.raises(DeniedError, match="the key of the cluster does not open") as found:
        KEYS.to_hold(live, FILE, applied=True)
    assert found.value.where == FILE[0]


def test_the_key_comes_from_the_encrypted_file(example: Example) -> None:
    """Without one, the operator's; during a rotation, the next one."""
    repository = example("ha").repository
    assert repository
    sops: Any = type("Sops", (), {"keys": KeyRing((ME,))})()
    shared = flux_keys(sops, {}, repository)
    assert (shared.goal, shared.separate) == (ME, False)
    own = flux_keys(sops, {CURRENT: OWN.identity}, repository)
    assert (own.goal, own.folder) == (OWN, "kubernetes")
    next_ = flux_keys(sops, {CURRENT: OWN.identity, NEXT: OTHER.identity}, repository)
    assert (next_.goal, next_.old) == (OTHER, (OWN, ME))
    with pytest.raises(TalopsError, match="cluster_age_key is not an age secret key") as found:
        flux_keys(sops, {CURRENT: Secret("AGE-SECRET-KEY-1NOT")}, repository)
    assert "1NOT" not in str(found.value)
    elsewhere = flux_keys(sops, {CURRENT: OWN.identity}, replace(repository, path="./deploy/a"))
    assert elsewhere.folder == "deploy"


@pytest.mark.parametrize(
    "path", ["", ".", "./", "/kubernetes", "../x", "infrastructure/flux", "talos/x", "bootstrap"]
)
def test_a_folder_with_other_secrets_is_refused(path: str) -> None:
    """The key of the cluster would open the credentials of talops."""
    with pytest.raises(TalopsError, match="no folder of its own"):
        flux_folder(path)
