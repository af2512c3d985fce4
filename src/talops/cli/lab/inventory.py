"""`talops lab inventory` and `talops lab env`: an inventory and an environment for the lab."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from talops.cli.options import Directory
from talops.cli.output import note

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.app.opening import Keys

LabDirectory = Annotated[Path, typer.Option("--dir", help="Directory of the lab.")]
HERE = Path(".talops/lab")
CA_FILE = "lab-ca.pem"


def add_to(lab: typer.Typer) -> None:
    lab.command("inventory")(inventory)
    lab.command("env")(env)
    lab.command("settings")(settings)


def env(
    lab: LabDirectory = HERE,
    admin: Annotated[
        bool,
        typer.Option(
            "--admin", help="Print how to reach its Proxmox as root@pam and its node network, too."
        ),
    ] = False,
) -> None:
    """Print the environment for tofu in the lab: eval "$(talops lab env)"."""
    details = _details(lab)
    values = {"TF_CLI_CONFIG_FILE": details["provider"]["cli_config"]}
    if admin:
        values |= {
            "PROXMOX": details["proxmox"]["hosts"][0]["endpoint"].rstrip("/"),
            "PROXMOX_CA": details["ca_file"],
            "PROXMOX_VE_PASSWORD": details["proxmox"]["password"],
            "NODE_NETWORK": details["network"].replace(".0.0/16", ".16.0/24"),
        }
    for name, value in values.items():
        typer.echo(f"export {name}={shlex.quote(value)}")


def settings(directory: Directory = None, lab: LabDirectory = HERE) -> None:
    """Add the addresses of the lab's images and releases to cluster.yaml."""
    from talops.errors import TalopsError
    from talops.files import write_atomic
    from talops.lab.sample import instead_of_the_internet

    assert directory is not None
    details = _details(lab)
    file = directory / "cluster.yaml"
    if not file.exists():
        raise TalopsError("cluster.yaml does not exist", where=str(file), hint="talops init")
    text = file.read_text(encoding="utf-8")
    if "\nimage_factory_url:" not in text:
        added = instead_of_the_internet(details)
        write_atomic(file, f"{text.rstrip()}\n\n# Of the lab: {lab}\n{added}")
    ca_file = Path(details["ca_file"]).read_text(encoding="utf-8")
    write_atomic(directory / CA_FILE, ca_file)
    typer.echo(f"wrote {CA_FILE}, and the addresses of the lab to cluster.yaml")


def inventory(
    directory: Directory = None,
    lab: LabDirectory = HERE,
    name: Annotated[str, typer.Option("--name", help="Name of the cluster.")] = "demo",
    control_planes: Annotated[
        int, typer.Option(min=1, max=9, help="Number of control planes: 1, 3 or 5.")
    ] = 3,
    workers: Annotated[
        int, typer.Option(min=0, max=200, help="Number of workers without a GPU.")
    ] = 2,
    gpu_workers: Annotated[
        int, typer.Option(min=0, max=1, help="Number of workers with a GPU.")
    ] = 0,
    subnet: Annotated[
        int, typer.Option(min=16, max=255, help="Third octet of the node network.")
    ] = 16,
    gitops: Annotated[
        bool, typer.Option("--gitops", help="Use Flux with the lab's Git repository lab/home.")
    ] = False,
    truenas: Annotated[
        bool, typer.Option("--truenas", help="Number of datasets on the lab's TrueNAS.")
    ] = False,
) -> None:
    """Write an inventory for the running lab, with encrypted credentials."""
    from talops.cli.opening import with_keys
    from talops.files import write_atomic
    from talops.lab.sample import LabInventory

    assert directory is not None
    details = _details(lab)
    wanted = LabInventory(name, control_planes, workers, gpu_workers, subnet)
    files = wanted.files(details, gitops=gitops, truenas=truenas)
    for file, text in files.items():
        if (directory / file).exists():
            note(f"kept  {file} (exists)")
            continue
        write_atomic(directory / file, text)
        typer.echo(f"wrote {file}")
    with_keys(directory, lambda keys: _credentials(keys, details, truenas=truenas))
    typer.echo("wrote infrastructure/secrets.sops.yaml (encrypted)")


async def keep_credentials(
    root: Path, details: Mapping[str, Any], environment: Mapping[str, str]
) -> None:
    """Those of the lab, for another directory than that of the user."""
    from talops.app.opening import open_keys
    from talops.cli.tools.progress import progress

    with progress() as emit:
        keys = await open_keys(root, environment, emit)
    await _credentials(keys, details)


async def _credentials(keys: Keys, details: Mapping[str, Any], *, truenas: bool = False) -> None:
    from talops.redaction import Secret
    from talops.secrets.init import init
    from talops.secrets.vault import Vault

    token, _, value = details["proxmox"]["api_token"].partition("=")
    secrets = {"proxmox_api_token_id": token, "proxmox_api_token_secret": value}
    if truenas:
        secrets["truenas_api_key"] = details["truenas"]["api_key"]
    made = await init(keys.sops, keys.file)
    await Vault.of(made.sops).write({name: Secret(text) for name, text in secrets.items()})


def _details(lab: Path) -> dict[str, Any]:
    from talops.lab.client import LabClient
    from talops.lab.layout import Layout

    found: dict[str, Any] = LabClient(Layout(lab.resolve())).call("GET", "/status")
    return found
