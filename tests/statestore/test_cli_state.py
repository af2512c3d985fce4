"""`talops state …` as it is typed."""

from __future__ import annotations

import asyncio
import json
import shutil
import ssl
import uuid
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from tests.statestore.helpers import lock_document, state_body
from tests.statestore.running import running

from talops.cli.app import run
from talops.cli.state.look import condition
from talops.inventory.load import load
from talops.redaction import Secret
from talops.site.state.copies import copies_around
from talops.statestore import users
from talops.statestore.backends.interface import StateInfo
from talops.statestore.s3.bucket import Bucket
from talops.statestore.stores import StoreAddress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.statestore.running import Running
    from tests.statestore.s3_server import S3Server

EXAMPLE = Path(__file__).parents[2] / "examples" / "two-hosts"
LAYER = "01-hypervisors"
ONE, TWO = f"{LAYER}-two-hosts", "02-platforms-two-hosts"


@pytest.fixture
def inventory(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLE, tmp_path / "inventory"))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One for all tests here; each takes a project of its own."""
    root = tmp_path_factory.mktemp("served")
    users.add(root / "users.json", "alice", "alice-password", read=(), write=("home-*",))
    users.add(root / "users.json", "auditor", "auditor-password", read=("*",), write=())
    store = StoreAddress(Secret(f"sqlite:{root / 'states'}"))
    with running(store, "--users", str(root / "users.json"), "--tls-self-made", str(root)) as it:
        yield replace(it, directory=root)


@dataclass(frozen=True)
class Served:
    """An inventory whose states live on a server, and the address of its project there."""

    inventory: Path
    url: str
    certificate: Path


@pytest.fixture
def served(inventory: Path, server: Running, monkeypatch: pytest.MonkeyPatch) -> Served:
    monkeypatch.setenv("TF_HTTP_USERNAME", "alice")
    monkeypatch.setenv("TF_HTTP_PASSWORD", "alice-password")
    url = f"{server.address}/home-{uuid.uuid4().hex}"
    assert server.directory is not None
    certificate = inventory / "server.pem"
    shutil.copy(server.directory / "certificate.pem", certificate)
    with (inventory / "cluster.yaml").open("a") as file:
        file.write(f"\nstate:\n  type: http\n  url: {url}\n  ca_file: {certificate.name}\n")
    return Served(inventory, url, certificate)


@pytest.fixture
def bucket(
    inventory: Path, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., bytes]:
    """The inventory's states live in a bucket; asks that bucket for an object, or puts one."""
    name = s3_server.new_bucket()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    # An inventory names endpoints by https; on loopback the variable of the tools says http.
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", s3_server.endpoint)
    with (inventory / "cluster.yaml").open("a") as file:
        file.write(f"\nstate:\n  type: s3\n  bucket: {name}\n  prefix: team\n")
        file.write("  region: us-east-1\n")

    opened = Bucket(name, "team", s3_server.options)

    def ask(key: str, data: bytes | None = None) -> bytes:
        if data is not None:
            asyncio.run(opened.put(key, data))
        found = asyncio.run(opened.get(key))
        return found[0] if found else b""

    return ask


def talops(capfd: pytest.CaptureFixture[str], *words: str | Path, code: int = 0) -> str:
    assert run([str(word) for word in words]) == code, capfd.readouterr()
    return capfd.readouterr().out


def put(inventory: Path, layer: str, body: bytes) -> Path:
    path = inventory / "infrastructure" / layer / "terraform.tfstate"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body)
    return path


def test_local_states_from_backup_to_restore(
    inventory: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A lost file and a torn file come back from the copies that applies leave behind."""
    path = put(inventory, LAYER, state_body(3))
    with copies_around(inventory, load(inventory).require()):
        put(inventory, LAYER, state_body(4))
    kept = sorted((inventory / ".talops" / "state" / ONE).iterdir())
    assert [copy.read_bytes() for copy in kept] == [state_body(3), state_body(4)]
    assert {copy.stat().st_mode & 0o777 for copy in kept} == {0o600}
    at = ("-C", inventory)
    for damage in (path.unlink, lambda: path.write_bytes(b'{"serial": 4, "lin')):
        damage()
        talops(capfd, "state", "restore", ONE, *at)
        assert path.read_bytes() == state_body(4)
    listed = json.loads(talops(capfd, "state", "list", *at, "-o", "json"))
    assert [(e["name"], e["serial"], e["exists"]) for e in listed] == [
        (ONE, 4, True),
        (TWO, None, False),
    ]
    folder = inventory / "copies"
    (written,) = talops(capfd, "state", "backup", "--to", folder, *at).split()
    assert Path(written).read_bytes() == state_body(4)
    assert folder.stat().st_mode & 0o777 == 0o700


def test_restore_from_a_file(inventory: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A file is restored only if it is a state, and over a newer one only with --force."""
    path = put(inventory, LAYER, state_body(4))
    file = inventory / "old.tfstate"
    file.write_bytes(b"{}")
    talops(capfd, "state", "restore", ONE, file, "-C", inventory, code=1)
    file.write_bytes(state_body(2))
    talops(capfd, "state", "restore", ONE, file, "-C", inventory, code=1)
    talops(capfd, "state", "restore", ONE, file, "--force", "-C", inventory)
    assert path.read_bytes() == state_body(2)


def test_the_old_server_may_have_an_authority_of_its_own(
    inventory: Path, served: Served, capfd: pytest.CaptureFixture[str]
) -> None:
    """Moving away from a server: the inventory names the new place, and no longer its CA."""
    put(inventory, LAYER, state_body(1))
    talops(capfd, "state", "migrate", "--from", "local", "-C", inventory)
    text = (inventory / "cluster.yaml").read_text()
    (inventory / "cluster.yaml").write_text(text.partition("\nstate:\n")[0])
    back = ("state", "migrate", "--from", served.url, "-C", inventory)
    talops(capfd, *back, code=1)
    assert ONE in talops(capfd, *back, "--from-ca", served.certificate)
    local = inventory / "infrastructure" / LAYER / "terraform.tfstate"
    assert local.read_bytes() == state_body(1)


def test_the_way_to_a_server_and_back_in_time(
    served: Served, capfd: pytest.CaptureFixture[str]
) -> None:
    """migrate, versions, diff, show, rollback, restore, locks and unlock against a server."""
    path = put(served.inventory, LAYER, state_body(1))
    at = ("-C", served.inventory)
    moved = talops(capfd, "state", "migrate", "--from", "local", *at)
    assert ONE in moved
    assert not path.exists()
    address = f"{served.url}/{ONE}"
    trust = ssl.create_default_context(cafile=served.certificate)
    direct = httpx.Client(auth=("alice", "alice-password"), verify=trust)
    assert direct.get(address).content == state_body(1)
    newer = json.loads(state_body(2)) | {"outputs": {"secret": {"value": "geheim"}}}
    direct.post(address, content=json.dumps(newer))
    found = json.loads(talops(capfd, "state", "versions", ONE, "-o", "json", *at))
    assert [(e["id"], e["serial"]) for e in found] == [("2", 2), ("1", 1)]
    shown = talops(capfd, "state", "diff", ONE, "1", *at)
    assert "+ output.secret" in shown
    assert "geheim" not in shown + talops(capfd, "state", "show", ONE, *at)
    assert "geheim" in talops(capfd, "state", "show", ONE, "--raw", *at)
    old = served.inventory / "old.tfstate"
    old.write_bytes(state_body(1))
    assert run(["state", "restore", ONE, str(old), *map(str, at)]) == 1
    said = capfd.readouterr().err
    assert "stored 2, received 1" in said
    assert f"talops state restore {ONE} FILE --force" in said
    talops(capfd, "state", "restore", ONE, old, "--force", *at)
    assert direct.get(address).content == state_body(1)
    talops(capfd, "state", "rollback", ONE, "2", *at)
    assert direct.get(address).json() == newer
    direct.request("LOCK", address, content=json.dumps(lock_document("x")))
    assert_locked_and_unlocked(capfd, at)
    talops(capfd, "state", "migrate", "--from", served.url, "--to", "local", *at)
    assert json.loads(path.read_bytes()) == newer
    direct.close()


@pytest.mark.slow
def test_the_way_to_a_bucket_and_back_in_time(
    inventory: Path, bucket: Callable[..., bytes], capfd: pytest.CaptureFixture[str]
) -> None:
    """The same commands, typed for states in a bucket."""
    path = put(inventory, LAYER, state_body(1))
    at = ("-C", inventory)
    assert ONE in talops(capfd, "state", "migrate", "--from", "local", *at)
    assert not path.exists()
    assert bucket(f"{ONE}.tfstate") == state_body(1)
    file = inventory / "other.tfstate"
    newer = json.loads(state_body(2)) | {"outputs": {"secret": {"value": "geheim"}}}
    file.write_text(json.dumps(newer))
    talops(capfd, "state", "restore", ONE, file, *at)
    assert json.loads(bucket(f"{ONE}.tfstate")) == newer
    (kept,) = json.loads(talops(capfd, "state", "versions", ONE, "-o", "json", *at))
    assert kept["serial"] == 1
    assert "+ output.secret" in talops(capfd, "state", "diff", ONE, kept["id"], *at)
    assert "geheim" in talops(capfd, "state", "show", ONE, "--raw", *at)
    file.write_bytes(state_body(1))
    talops(capfd, "state", "restore", ONE, file, *at, code=1)
    talops(capfd, "state", "rollback", ONE, kept["id"], *at)
    assert bucket(f"{ONE}.tfstate") == state_body(1)
    (written,) = talops(capfd, "state", "backup", "--to", inventory / "copies", *at).split()
    assert Path(written).read_bytes() == state_body(1)
    bucket(f"{ONE}.tfstate.tflock", json.dumps(lock_document("x")).encode())
    assert_locked_and_unlocked(capfd, at)
    listed = json.loads(talops(capfd, "state", "list", *at, "-o", "json"))
    assert [(e["name"], e["serial"]) for e in listed] == [(ONE, 1), (TWO, None)]
    talops(capfd, "state", "migrate", "--from", "s3", "--to", "local", *at)
    assert path.read_bytes() == state_body(1)


def assert_locked_and_unlocked(
    capfd: pytest.CaptureFixture[str], at: tuple[str | Path, ...]
) -> None:
    (held,) = json.loads(talops(capfd, "state", "locks", "-o", "json", *at))
    assert (held["state"], held["lock"]["Who"]) == (ONE, "alice@laptop")
    talops(capfd, "state", "unlock", ONE, "--id", "wrong", *at, code=1)
    talops(capfd, "state", "unlock", ONE, "--id", "x", *at)
    assert json.loads(talops(capfd, "state", "locks", "-o", "json", *at)) == []


def test_wrong_credentials_are_an_error(
    served: Served, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refused login is said, and the password does not appear."""
    monkeypatch.setenv("TF_HTTP_PASSWORD", "not-the-password")
    assert run(["state", "list", "-C", str(served.inventory)]) == 1
    said = capfd.readouterr()
    assert "401" in said.err
    assert "not-the-password" not in said.err + said.out


@pytest.mark.parametrize(
    ("info", "words"),
    [
        (StateInfo(ONE, serial=1), "ok"),
        (StateInfo(ONE), "does not exist yet"),
        (StateInfo("home.run"), "no run in progress"),
        (StateInfo("home.run", lock={"Who": "a@b"}), "locked by a@b"),
        (StateInfo(ONE, problem="is not JSON"), "is not JSON"),
    ],
)
def test_the_condition_of_a_state(info: StateInfo, words: str) -> None:
    """The lock of runs lies beside the states and never becomes one."""
    assert condition(info) == words


def test_users_from_the_command_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A password is made, printed once, and only its hash is kept."""
    book = tmp_path / "users.json"
    first = talops(capfd, "state", "user", "add", "bob", "--users", book, "--read", "home/*")
    second = talops(capfd, "state", "user", "rotate", "bob", "--users", book)
    assert len(first.strip()) > 20
    assert first != second
    assert first.strip() not in book.read_text()
    assert users.load(book)["bob"].read == ("home/*",)
    assert users.load(book)["bob"].write == ()
    talops(capfd, "state", "user", "remove", "bob", "--users", book)
    talops(capfd, "state", "user", "remove", "bob", "--users", book, code=1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--listen", "127.0.0.1:0"], "--users or --no-users is required"),
        (["--no-users", "--listen", "0.0.0.0:0"], "can only listen on loopback"),
        (["--no-users", "--store", "ftp:x"], "unknown store type"),
        (["--users", "missing.json"], "cannot read the users file"),
        (["--no-users", "--key-file", "missing.key"], "cannot read the key file"),
    ],
)
def test_a_server_that_must_not_start(
    words: list[str],
    said: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every unsafe or impossible setting ends the command with its reason."""
    monkeypatch.chdir(tmp_path)
    assert run(["state", "serve", *words]) == 1
    assert said in capfd.readouterr().err


def test_two_servers_on_one_directory(tmp_path: Path) -> None:
    """The second server refuses to start, in words."""
    store = StoreAddress(Secret(f"sqlite:{tmp_path / 'states'}"))
    with running(store), pytest.raises(RuntimeError, match="another state server"), running(store):
        pass


def test_the_audit_from_the_command_line(
    served: Served, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It lists what this user may see, and proves the chain; a chain that became shorter shows."""
    at = ("-C", served.inventory)
    put(served.inventory, LAYER, state_body(1))
    talops(capfd, "state", "migrate", "--from", "local", *at)
    shown = talops(capfd, "state", "audit", "show", *at)
    assert "write" in shown
    rows = json.loads(
        talops(capfd, "state", "audit", "show", "--state", ONE, "-o", "json", "--limit", "2", *at)
    )
    assert [row["action"] for row in rows][:1] == ["read"]
    assert run(["state", "audit", "verify", *map(str, at)]) == 1
    assert 'it requires "read": ["*"]' in capfd.readouterr().err
    monkeypatch.setenv("TF_HTTP_USERNAME", "auditor")
    monkeypatch.setenv("TF_HTTP_PASSWORD", "auditor-password")
    proof = json.loads(talops(capfd, "state", "audit", "verify", "-o", "json", *at))
    assert proof["problems"] == []
    assert proof["entries"] >= 5
    seen = served.inventory / ".talops" / "state" / "audit-seen.json"
    place, mark = next(iter(json.loads(seen.read_text()).items()))
    assert mark["number"] == proof["number"]
    seen.write_text(json.dumps({place: {"number": 10_000, "hash": "f" * 64}}))
    assert run(["state", "audit", "verify", *map(str, at)]) == 1
    said = capfd.readouterr().err
    assert "but block 10000 existed: its end was removed" in said
    seen.write_text(json.dumps({place: {"number": 1, "hash": "f" * 64}}))
    assert run(["state", "audit", "verify", *map(str, at)]) == 1
    assert "rewritten" in capfd.readouterr().err
    seen.write_text("{")
    assert run(["state", "audit", "verify", *map(str, at)]) == 1
    assert "cannot read what was seen" in capfd.readouterr().err


def test_local_states_have_no_audit(inventory: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The error names the backend that has one."""
    assert run(["state", "audit", "verify", "-C", str(inventory)]) == 1
    assert "only a state server has an audit" in capfd.readouterr().err


def test_the_right_to_force_from_the_command_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """It is granted with the user or later, and revoked."""
    book = tmp_path / "users.json"
    talops(capfd, "state", "user", "add", "carol", "--users", book, "--force", "home/*")
    assert users.load(book)["carol"].force == ("home/*",)
    talops(capfd, "state", "user", "grant", "carol", "--users", book)
    assert users.load(book)["carol"].force == ()
