"""A second `talops up` beside one tofu plan, on the site of `make demo`.

Three control planes, two workers and a GPU worker, with a state server, Flux and TrueNAS: whatever
`scripts/demo` sets up is set up here, and nothing is left out to be quicker. Both are timed in
turn, so that a machine that gets slower meanwhile is slower for both.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.bench.driven import LAYER, Bench, timed, tofu_environment
from tests.bench.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator

ROUNDS = 9
SIZES = ("--control-planes", "3", "--workers", "2", "--gpu-workers", "1", "--gitops", "--truenas")
CREDENTIALS = (
    "proxmox_api_token_id",
    "proxmox_api_token_secret",
    "state_encryption_passphrase",
    "tfstate_username",
    "tfstate_password",
)


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="talops-bench-") as scratch:
        bench = Bench(Path(scratch))
        bench.site.mkdir()
        lab = str(bench.scratch / "lab")
        bench.talops("lab", "start", "--dir", lab, "--detach")
        try:
            details = json.loads(bench.talops("lab", "status", "--dir", lab, "-o", "json"))
            bench.environment["TF_CLI_CONFIG_FILE"] = details["provider"]["cli_config"]
            bench.talops("lab", "inventory", "--dir", lab, "-C", str(bench.site), *SIZES)
            with _state_server(bench, details):
                _push(bench, details)
                yield from _measure(bench)
        finally:
            bench.talops("lab", "stop", "--dir", lab)


def _measure(bench: Bench) -> Iterator[Figure]:
    site = str(bench.site)
    bench.talops("up", "-C", site, "--yes")
    tools = json.loads(bench.talops("tools", "list", "-o", "json"))
    tofu = next(tool["path"] for tool in tools if tool["name"] == "tofu")
    ours, by_hand = bench.environment, tofu_environment(bench, CREDENTIALS)
    ups, plans, looks = [], [], []
    for _ in range(ROUNDS):
        bench.environment = ours
        ups.append(timed(lambda: bench.talops("up", "-C", site, "--yes")))
        _was_unchanged(bench.site)
        looks.append(timed(lambda: bench.talops("plan", "-C", site)))
        bench.environment = by_hand
        plans.append(timed(lambda: bench.tofu(tofu, "plan", "-input=false", "-lock=false")))
    bench.environment = ours
    plan = statistics.median(plans)
    yield Figure(f"again: one tofu plan of {LAYER} by hand", plan, "s")
    again = statistics.median(ups)
    yield Figure("again: a second up of the demo", again, "s", 1.5 * plan + 2)
    yield Figure(
        "again: talops plan against a second up", statistics.median(looks) / again, "x", 1.3
    )
    bench.talops("down", "-C", site, "--yes", "--cluster", "demo", "--all-layers")


def _was_unchanged(site: Path) -> None:
    last = max((site / ".talops/runs").glob("*-up-*"), key=lambda run: run.name)
    result = json.loads((last / "result.json").read_text())
    if any(stage["status"] != "unchanged" for stage in result["stages"]):
        raise RuntimeError(f"this was no second run: {result}")


@contextmanager
def _state_server(bench: Bench, details: dict[str, Any]) -> Iterator[None]:
    """As the demo starts it: SQLite, one user, TLS of its own making."""
    site, home = str(bench.site), bench.scratch / "state"
    home.mkdir()
    address = details["network"].replace(".0.0/16", ".0.9")
    bench.talops("secrets", "set", "tfstate_password", "--generate", "-C", site)
    bench.talops("secrets", "set", "tfstate_username", "-C", site, given="demo\n")
    password = bench.talops("secrets", "get", "tfstate_password", "-C", site)
    users = ("--users", str(home / "users.json"))
    words = ("--write", "demo/*", "--password-file", "-")
    bench.talops("state", "user", "add", "demo", *users, *words, given=password)
    served = ("--store", f"sqlite:{home / 'store'}", *users, "--tls-self-made", str(home / "tls"))
    command = ["state", "serve", *served, "--listen", f"{address}:8443"]
    with (home / "log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "talops", *command],
            env=bench.environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        while "serving states" not in (home / "log").read_text():
            if server.poll() is not None:
                raise RuntimeError(f"the state server ended: {(home / 'log').read_text()}")
            time.sleep(0.1)
        (bench.site / "state-ca.pem").write_bytes((home / "tls/certificate.pem").read_bytes())
        line = f'state: {{type: http, url: "https://{address}:8443/demo", ca_file: state-ca.pem}}\n'
        with (bench.site / "cluster.yaml").open("a") as inventory:
            inventory.write(line)
        yield
    finally:
        server.terminate()
        server.wait()


def _push(bench: Bench, details: dict[str, Any]) -> None:
    """The repository that Flux follows, on the lab's Git server."""
    bench.talops("gitops", "init", "-C", str(bench.site))
    git = details["git"]
    url = git["url"].replace("https://", f"https://lab:{git['token']}@")
    identity = {
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_SSL_CAINFO": str(bench.site / "lab-ca.pem"),
        **{f"GIT_{who}_NAME": "bench" for who in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{who}_EMAIL": "bench@example.com" for who in ("AUTHOR", "COMMITTER")},
    }
    for words in (
        ["init", "--quiet", "--initial-branch=main"],
        ["add", "--all"],
        ["commit", "--quiet", "--message", "A cluster in two files"],
        ["push", "--quiet", url, "HEAD:main"],
    ):
        subprocess.run(
            ["git", *words], cwd=bench.site, env={**bench.environment, **identity}, check=True
        )
