"""Secrets during a rotation: kept in the file, and rendered as the phase says."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from talops.errors import TalopsError
from talops.inventory.load import load
from talops.machineconfig import yamltext
from talops.machineconfig.build import build_configs
from talops.machineconfig.contract import Contract
from talops.machineconfig.documents.secret_parts import in_main_document
from talops.machineconfig.secrets import bundle as bundles
from talops.machineconfig.secrets import pem, pki
from talops.machineconfig.secrets.pki import Pair
from talops.machineconfig.secrets.rotating import Phase, Rotated, Rotation
from talops.redaction import Secret

if TYPE_CHECKING:
    from talops.machineconfig.secrets.bundle import Bundle

EXAMPLES = Path(__file__).parents[2] / "examples"
NOW = datetime.now(UTC)
OLD = bundles.generate(NOW)
NEW_OS, NEW_K8S = pki.talos_ca(NOW), pki.kubernetes_ca(NOW)
NEW_KEY = OLD.aggregator.key  # any private key
BOX = Secret("c2VjcmV0Ym94a2V5MDEyMzQ1Njc4OTAxMjM0NTY3ODk=")
CONTRACTS = [Contract.V1_13, Contract.V1_14]


def in_phase(phase: Phase) -> Bundle:
    """All four at once."""
    if phase is Phase.ACCEPT:
        others = (NEW_OS, NEW_K8S, Pair("", NEW_KEY), Pair("", BOX))
        used, names = OLD, ("key2", "key3")
    else:
        others = (OLD.os, OLD.k8s, Pair("", OLD.service_account), Pair("", OLD.secretbox))
        used = replace(
            OLD,
            os=NEW_OS,
            k8s=NEW_K8S,
            service_account=NEW_KEY,
            secretbox=BOX,
            secretbox_name="key3",
        )
        names = ("key3", "key2")
    rotations = {
        rotated: Rotation(phase, other, names[1] if rotated is Rotated.ENCRYPTION else "")
        for rotated, other in zip(Rotated, others, strict=True)
    }
    return replace(used, rotations=rotations)


@pytest.fixture
def dev(tmp_path: Path) -> Path:
    """A private copy of the `dev` example."""
    for name in ("cluster.yaml", "nodes.yaml"):
        text = (EXAMPLES / "dev" / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def configs(dev: Path, bundle: Bundle, contract: Contract) -> dict[bool, list[dict[str, Any]]]:
    """By whether it is that of a control plane; every config is validated by `build_configs`."""
    text = (dev / "cluster.yaml").read_text(encoding="utf-8")
    (dev / "cluster.yaml").write_text(f"{text}\ntalos_contract: v{contract}\n", encoding="utf-8")
    made = build_configs(load(dev).require(), bundle, lambda _: "")
    return {config.control_plane: list(config.documents) for config in made.values()}


@pytest.mark.parametrize("phase", Phase)
def test_the_file_keeps_the_rotation(phase: Phase) -> None:
    """What is written is read again, with every key masked."""
    bundle = in_phase(phase)
    assert bundles.from_yaml(bundle.to_yaml(), where="x") == bundle
    assert bundles.from_yaml(OLD.to_yaml(), where="x").rotations == {}
    masked = {secret.reveal() for secret in bundle.secrets()}
    assert {r.other.key.reveal() for r in bundle.rotations.values()} <= masked


@pytest.mark.parametrize(
    "damage",
    [
        {"rotation": {"talos-ca": {"phase": "later", "key": "x"}}},
        {"rotation": {"moon": {"phase": "accept", "key": "x"}}},
        {"rotation": {"talos-ca": {"phase": "accept", "crt": OLD.os.crt, "key": "x"}}},
        {"rotation": ["x"]},
        "x",
    ],
)
def test_a_rotation_that_cannot_be_read_is_an_error(damage: Any) -> None:
    """Read as none, it would take the new CA from all nodes."""
    data = OLD.to_data() | {"talops": damage}
    with pytest.raises(TalopsError, match="cannot be read"):
        bundles.from_yaml(yamltext.dump(data), where="x")


@pytest.mark.parametrize("contract", CONTRACTS, ids=str)
@pytest.mark.parametrize("phase", Phase)
def test_configs_accept_what_the_phase_says(dev: Path, phase: Phase, contract: Contract) -> None:
    """The CA in use signs, the other one is accepted until it is dropped; workers get no key."""
    bundle = in_phase(phase)
    other_os, other_k8s = (NEW_OS, NEW_K8S) if phase is Phase.ACCEPT else (OLD.os, OLD.k8s)
    for control_plane, documents in configs(dev, bundle, contract).items():
        main = in_main_document(documents[0], documents)
        machine, cluster = main["machine"], main["cluster"]
        accepted = [] if phase is Phase.DROP else [{"crt": other_os.crt}]
        assert machine.get("acceptedCAs", []) == accepted
        assert machine["ca"] == {
            "crt": bundle.os.crt,
            "key": bundle.os.key.reveal() if control_plane else "",
        }
        if contract is Contract.V1_13:
            found = cluster.get("acceptedCAs", [])
            assert found == ([] if phase is Phase.DROP else [{"crt": other_k8s.crt}])
            assert cluster["ca"]["crt"] == bundle.k8s.crt
            continue
        (document,) = (d for d in documents if d.get("kind") == "KubeAPIServerCAConfig")
        texts = [pem.from_one_line(pair.crt).decode() for pair in (bundle.k8s, other_k8s)]
        wanted = texts[: 1 if phase is Phase.DROP else 2]
        assert document.get("acceptedCAs", []) == wanted[1 if control_plane else 0 :]
        assert ("issuingCA" in document) is control_plane


@pytest.mark.parametrize("phase", Phase)
def test_keys_of_contract_1_14(dev: Path, phase: Phase) -> None:
    """The first encryption key writes; tokens of both service account keys are accepted."""
    bundle = in_phase(phase)
    documents = configs(dev, bundle, Contract.V1_14)[True]
    (encryption,) = (d for d in documents if d.get("kind") == "KubeEtcdEncryptionConfig")
    keys = encryption["config"]["resources"][0]["providers"][0]["secretbox"]["keys"]
    names = {Phase.ACCEPT: ["key2", "key3"], Phase.ISSUE: ["key3", "key2"], Phase.DROP: ["key3"]}
    assert [key["name"] for key in keys] == names[phase]
    assert keys[0]["secret"] == bundle.secretbox.reveal()
    (account,) = (d for d in documents if d.get("kind") == "KubeServiceAccountConfig")
    accepted = (account.get("accepted") or {}).get("publicKeys", [])
    other = bundle.rotations[Rotated.SERVICE_ACCOUNT].other.key.reveal()
    public = pem.public_pem(pem.from_one_line(other).decode())
    assert accepted == ([] if phase is Phase.DROP else [public])
    assert "PRIVATE" not in "".join(accepted)


@pytest.mark.parametrize("phase", Phase)
def test_clients_trust_what_may_answer(phase: Phase) -> None:
    """The CA in use is first; after the drop it is alone."""
    bundle = in_phase(phase)
    text = pem.from_one_line(bundle.trusted_os).decode()
    assert text.count("BEGIN CERTIFICATE") == (1 if phase is Phase.DROP else 2)
    assert text.startswith(pem.from_one_line(bundle.os.crt).decode().strip())
