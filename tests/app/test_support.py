"""The support bundle: complete, repeatable, and without any secret in any form."""

from __future__ import annotations

import base64
import io
import json
import tarfile
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from talops.app.support import LeakError, cleaned, collect, forms, pack, prove
from talops.pipeline.history import list_runs
from talops.pipeline.record import run_recorded
from talops.pipeline.run import Run
from talops.redaction import Secret

if TYPE_CHECKING:
    from pathlib import Path

WORD = 'pa"ss/wörd-1234'
KEY = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIGh1bnRlcjI=\n-----END PRIVATE KEY-----"
TOKEN = "root@pam!lab=6da6b829-cd71-4a52-9eef-6778d92cb870"
KNOWN = {
    "password": Secret(WORD),
    "key": Secret(base64.b64encode(KEY.encode()).decode()),
    "token": Secret(TOKEN),
}


@pytest.mark.parametrize(
    "text",
    [
        WORD,
        json.dumps({"message": f"refused {WORD}"}),
        json.dumps({"message": f"refused {WORD}"}, ensure_ascii=False),
        f"https://host/?p={quote(WORD, safe='')}",
        base64.b64encode(WORD.encode()).decode(),
        KEY,
        KEY.replace("\n", "\\n"),
        base64.b64encode(KEY.encode()).decode(),
        KEY.splitlines()[1],
        TOKEN,
        TOKEN.rpartition("=")[2],
        f"-----BEGIN RSA PRIVATE KEY-----\n{'A' * 40}\n",
        "https://user:some-password@host/x",
        "AGE-SECRET-KEY-1" + "Q" * 58,
    ],
)
def test_every_form_is_found_and_removed(text: str) -> None:
    """The scan refuses it as it is; the cleaning leaves nothing for the scan to find."""
    files = {"runs/x/log": f"before {text} after\n"}
    with pytest.raises(LeakError):
        prove(pack(files, {}), KNOWN)
    clean = cleaned(files, KNOWN)
    assert "before" in clean["runs/x/log"]
    assert prove(pack(clean, {}), KNOWN) == 2


def test_the_refusal_does_not_repeat_the_secret() -> None:
    """It says where and whose, and nothing more."""
    with pytest.raises(LeakError) as refused:
        prove(pack({"a": f"{WORD} {TOKEN}"}, {}), KNOWN)
    said = str(refused.value)
    assert "the value of password" in said
    assert not any(form in said for secret in KNOWN.values() for form in forms(secret))


def test_a_secret_in_a_name_or_the_manifest_counts() -> None:
    """The proof is of the finished bundle, not of what went in."""
    with pytest.raises(LeakError):
        prove(pack({f"logs/{TOKEN.rpartition('=')[2]}": "x"}, {}), KNOWN)
    with pytest.raises(LeakError):
        prove(pack({}, {"note": TOKEN}), KNOWN)


async def test_what_is_collected(tmp_path: Path) -> None:
    """Inventory, generated files and runs; never keys, states or encrypted files."""
    await run_recorded(Run("up", "demo", tmp_path, lambda _: []), view=lambda _: None)
    given = {
        "cluster.yaml": "proxmox_api_token_secret: plain-text\ntokens:\n  - a\n",
        "infrastructure/02/main.tf": "x",
        "infrastructure/02/.terraform/m.tf": "x",
        "infrastructure/02/terraform.tfstate": "x",
        "infrastructure/secrets.sops.yaml": "x",
        "age.key": "x",
        "kubeconfig": "x",
        "talos/clusterconfig/cp.yaml": "x",
    }
    for name, text in given.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = collect(tmp_path, list_runs(tmp_path / ".talops"))
    assert {name for name in found if not name.startswith("runs/")} == {
        "inventory/cluster.yaml",
        "generated/infrastructure/02/main.tf",
        "checkpoint.json",
    }
    assert "plain-text" not in found["inventory/cluster.yaml"]
    assert "tokens:\n  ***" in found["inventory/cluster.yaml"]
    assert any(name.endswith("/events.jsonl") for name in found)


def test_the_same_files_make_the_same_bundle() -> None:
    """Nothing in it tells when or by whom it was packed; its manifest lists every file."""
    files = {"a": "1", "b/c": "2"}
    bundle = pack(files, {"talops": "1"})
    assert bundle == pack(files, {"talops": "1"})
    with tarfile.open(fileobj=io.BytesIO(bundle)) as archive:
        file = archive.extractfile("talops-support/MANIFEST.json")
        assert file
        assert set(json.loads(file.read())["files"]) == {"a", "b/c"}
