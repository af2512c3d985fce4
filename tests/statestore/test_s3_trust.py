"""A store of one's own: a private authority, plain http, keys from the secrets, errors in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.statestore.s3_server import S3Server, s3

from talops.errors import TalopsError, UnreachableError
from talops.inventory.load import load
from talops.lab.pki import Authority
from talops.redaction import Secret
from talops.site.site import ClosedSite
from talops.site.state.backends import backend_of
from talops.statestore.s3.bucket import CA_BUNDLE, Bucket

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CLUSTER = """\
cluster_name: home
talos_version: v1.13.9
kubernetes_version: v1.36.3
node_cidr: 10.0.0.0/24
proxmox_api_url: https://pve.example:8006
proxmox_node: pve
"""
NODES = "nodes:\n  - {name: cp-1, address: 10.0.0.11, controller: true}\n"
KEYS = {"tfstate_username": Secret("test"), "tfstate_password": Secret("test")}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    made = Authority(tmp_path_factory.mktemp("authority"))
    made.ensure()
    return made


@pytest.fixture(scope="module")
def private(authority: Authority) -> Iterator[S3Server]:
    with s3(authority=authority) as server:
        yield server


@pytest.fixture(autouse=True)
def no_keys_around(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL_S3", CA_BUNDLE):
        monkeypatch.delenv(name, raising=False)


def inventory(root: Path, state: str) -> Path:
    (root / "cluster.yaml").write_text(f"{CLUSTER}state: {state}\n", encoding="utf-8")
    (root / "nodes.yaml").write_text(NODES, encoding="utf-8")
    return root


@pytest.mark.parametrize("plain", [False, True])
async def test_the_inventory_alone_is_enough(
    tmp_path: Path, private: S3Server, s3_server: S3Server, authority: Authority, *, plain: bool
) -> None:
    """Endpoint and authority as written, keys as `secrets edit` keeps them, nothing exported."""
    server = s3_server if plain else private
    (tmp_path / "ca.pem").write_bytes(authority.certificate.read_bytes())
    trust = "" if plain else ", ca_file: ca.pem"
    bucket = server.new_bucket()
    state = (
        f"{{type: s3, bucket: {bucket}, region: us-east-1, endpoint: '{server.endpoint}'{trust}}}"
    )
    cluster = load(inventory(tmp_path, state)).require()
    backend = backend_of(ClosedSite(cluster, tmp_path, {}, KEYS))
    assert await backend.read("01-hypervisors") is None
    assert [each.name for each in await backend.overview()]


async def test_a_bucket_beside_local_states_gets_the_same_keys(
    tmp_path: Path, private: S3Server, authority: Authority
) -> None:
    """`state migrate --from s3://… --from-ca FILE` to local files."""
    environment = {"AWS_ENDPOINT_URL_S3": private.endpoint, "AWS_REGION": "us-east-1"}
    cluster = load(inventory(tmp_path, "local")).require()
    place = f"s3://{private.new_bucket()}/team"
    backend = backend_of(
        ClosedSite(cluster, tmp_path, environment, KEYS), place, authority.certificate
    )
    assert await backend.read("01-hypervisors") is None


def options(server: S3Server, **more: str) -> dict[str, str]:
    return {**server.options, **more}


async def test_an_unknown_authority_is_named_as_the_reason(private: S3Server) -> None:
    """Not GenericError: the certificate, and where its authority is written down."""
    bucket = Bucket("states", "", options(private))
    with pytest.raises(UnreachableError, match="its certificate is not trusted") as refused:
        await bucket.get("x")
    assert "ca_file of state:" in str(refused.value.hint)


async def test_a_store_that_is_not_there_is_said_so(private: S3Server) -> None:
    """A port where nothing listens; and TLS at a port that uses http."""
    gone = Bucket("states", "", options(private, AWS_ENDPOINT_URL="http://127.0.0.1:9"))
    with pytest.raises(UnreachableError, match="does not answer: connection refused"):
        await gone.get("x")
    plain = private.endpoint.replace("https:", "http:")
    with pytest.raises(UnreachableError, match=r"check whether it uses TLS|the request failed"):
        await Bucket("states", "", options(private, AWS_ENDPOINT_URL=plain)).get("x")


@pytest.mark.parametrize(
    ("content", "words"), [(None, "No such file"), ("rubbish", "it contains no certificate")]
)
def test_an_authority_that_cannot_be_read(
    tmp_path: Path, private: S3Server, content: str | None, words: str
) -> None:
    """The file is named, and what is wrong with it."""
    file = tmp_path / "ca.pem"
    if content:
        file.write_text(content, encoding="utf-8")
    with pytest.raises(TalopsError, match=words) as refused:
        Bucket("states", "", options(private, **{CA_BUNDLE: str(file)}))
    assert refused.value.where == str(file)
