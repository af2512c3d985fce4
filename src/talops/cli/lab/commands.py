"""`talops lab …`: simulated Proxmox hosts, Image Factory and more on loopback, for tests."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from talops.cli.lab import inventory as lab_inventory
from talops.cli.options import Format, Output
from talops.cli.output import note, print_json
from talops.plural import count

if TYPE_CHECKING:
    from talops.lab.client import LabClient
    from talops.lab.layout import Layout
    from talops.lab.spec import LabSpec
    from talops.lab.tools import LabTools

LabDirectory = Annotated[
    Path, typer.Option("--dir", help="Directory of the lab; all its files are there.")
]
HERE = Path(".talops/lab")


def register(root: typer.Typer) -> None:
    lab = typer.Typer(help="Run a simulated Proxmox for tests.", no_args_is_help=True)
    lab.command("start")(start)
    lab.command("proxmox")(proxmox)
    lab.command("status")(status)
    lab.command("stop")(stop)
    lab.command("reset")(reset)
    fault = typer.Typer(help="Inject faults into the lab.", no_args_is_help=True)
    fault.command("add")(fault_add)
    fault.command("list")(fault_list)
    fault.command("clear")(fault_clear)
    lab.add_typer(fault, name="fault")
    lab_inventory.add_to(lab)
    root.add_typer(lab, name="lab")


def _layout(directory: Path) -> Layout:
    from talops.lab.layout import Layout

    return Layout(directory.resolve())


def _client(directory: Path) -> LabClient:
    from talops.lab.client import LabClient

    return LabClient(_layout(directory))


Detach = Annotated[bool, typer.Option("--detach", help="Start it in the background and return.")]
Spec = Annotated[
    Path | None,
    typer.Option("--spec", help="JSON file that describes hosts, nodes, storages and devices."),
]
Hosts = Annotated[
    list[str] | None, typer.Option("--host", help="Name of a standalone Proxmox host; repeatable.")
]
Nodes = Annotated[
    str | None,
    typer.Option("--nodes", help="Nodes of a Proxmox cluster: a,b,c.", envvar="TALOPS_LAB_NODES"),
]
Nas = Annotated[
    str | None,
    typer.Option("--truenas", help="Version of the simulated TrueNAS, like 24.10 or 25.04."),
]
Pace = Annotated[
    float | None,
    typer.Option("--pace", help="Duration of each step of a task (default: 0.1)."),
]
Discovery = Annotated[
    bool,
    typer.Option("--discovery/--no-discovery", help="Run a discovery service for the nodes."),
]

Workloads = Annotated[
    bool,
    typer.Option("--workloads", help="Run pods, with a real scheduler and controller manager."),
]


def start(
    directory: LabDirectory = HERE,
    detach: Detach = False,
    spec: Spec = None,
    host: Hosts = None,
    nodes: Nodes = None,
    pace: Pace = None,
    truenas: Nas = None,
    discovery: Discovery = True,
    workloads: Workloads = False,
    output: Output = Format.TEXT,
) -> None:
    """Start a lab with running Talos nodes and print its addresses."""
    wanted = _spec(spec, host or [], nodes, pace, truenas, discovery=discovery, workloads=workloads)
    _start("start", directory, wanted, output, detach=detach)


def proxmox(
    directory: LabDirectory = HERE,
    detach: Detach = False,
    spec: Spec = None,
    host: Hosts = None,
    nodes: Nodes = None,
    pace: Pace = None,
    output: Output = Format.TEXT,
) -> None:
    """Start a lab of Proxmox, Image Factory and TrueNAS; its VMs are empty."""
    _start("proxmox", directory, _spec(spec, host or [], nodes, pace), output, detach=detach)


def _start(
    verb: str, directory: Path, spec: LabSpec | None, output: Format, *, detach: bool
) -> None:
    if detach:
        _show(_start_detached(verb, directory, spec), output)
    else:
        asyncio.run(_serve(verb, directory, spec, output))


async def _tools(verb: str) -> LabTools:
    from talops.cli.lab.tools import lab_tools
    from talops.lab.tools import NOTHING

    return NOTHING if verb == "proxmox" else await lab_tools()


def _spec(
    file: Path | None,
    hosts: list[str],
    nodes: str | None,
    pace: float | None,
    truenas: str | None = None,
    *,
    discovery: bool = True,
    workloads: bool = False,
) -> LabSpec | None:
    from talops.lab.spec import cluster, read_spec, standalone, truenas_of, usual

    given = (file, nodes, pace, truenas)
    if all(value is None for value in given) and not hosts and discovery and not workloads:
        return None
    spec = read_spec(file) if file else usual()
    named = [standalone(name) for name in hosts]
    if nodes:
        named.append(cluster(nodes.split(",")[0], nodes.split(",")))
    changes: dict[str, Any] = {"proxmox": tuple(named)} if named else {}
    if pace is not None:
        changes["pace"] = pace
    if truenas is not None:
        changes["truenas"] = truenas_of(truenas, spec.truenas)
    if not discovery:
        changes["discovery"] = False
    if workloads:
        changes["workloads"] = True
    return spec.model_copy(update=changes)


async def _serve(verb: str, directory: Path, spec: LabSpec | None, output: Format) -> None:
    from talops.lab.world import World

    world = World(directory, spec, await _tools(verb))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, world.stopping.set)
    async with world:
        _show(world.endpoints(), output)
        await world.stopping.wait()


def _start_detached(verb: str, directory: Path, spec: LabSpec | None) -> dict[str, Any]:
    """Run the same command in a session of its own, with its output in the lab's log."""
    from talops.files import PRIVATE, make_private_directory, write_atomic
    from talops.lab.world import need_stopped

    layout = _layout(directory)
    make_private_directory(layout.root)
    need_stopped(layout)
    asyncio.run(_tools(verb))  # in the foreground, which shows the progress of downloads and builds
    command = [sys.executable, "-m", "talops", "lab", verb, "--dir", str(layout.root)]
    if spec:
        path = layout.root / "spec.json"
        write_atomic(path, spec.model_dump_json(by_alias=True, indent=2), mode=PRIVATE)
        command += ["--spec", str(path)]
    with layout.log.open("ab") as log:
        before = log.tell()
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            start_new_session=True,
        )

    def gone() -> str | None:
        code = process.poll()
        return None if code is None else _last_words(layout.log, before) or f"exit code {code}"

    return _client(directory).wait_until_started(gone)


def _last_words(log: Path, start: int) -> str:
    """The error that ended a lab in the background."""
    with log.open("rb") as file:
        file.seek(start)
        text = file.read().decode(errors="replace")
    return " ".join(text[text.find("error: ") :].split()) if "error: " in text else ""


def _show(details: dict[str, Any], output: Format) -> None:
    if output is Format.JSON:
        print_json(details)
        sys.stdout.flush()
        return
    lines = [f"lab        {details['directory']}"]
    lines += [
        f"proxmox    {host['endpoint']}  ({host['name']}: {', '.join(host['nodes'])})"
        for host in details["proxmox"]["hosts"]
    ]
    lines += [
        f"user       {details['proxmox']['username']}  password {details['proxmox']['password']}",
        f"API token  {details['proxmox']['api_token']}",
        f"factory    {details['factory']['url']}",
        f"CA file    {details['ca_file']}",
    ]
    if "truenas" in details:
        nas = details["truenas"]
        lines.append(f"truenas    {nas['url']}  ({nas['version']}: {', '.join(nas['pools'])})")
        lines.append(f"API key    {nas['api_key']}")
    if "provider" in details:
        plugin = details["provider"]
        lines.append(f"provider   bpg/proxmox {plugin['version']} ({plugin['origin']})")
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def status(directory: LabDirectory = HERE, output: Output = Format.TEXT) -> None:
    """Show the running lab, its addresses and its faults."""
    details = _client(directory).call("GET", "/status")
    _show(details, output)
    if output is Format.TEXT:
        for fault in details["faults"]:
            note(f"fault      {fault['id']}: {fault['kind']}, seen {fault['seen']} times")
        for name, node in details.get("talos", {}).get("nodes", {}).items():
            if node["kubelet"]:
                note(f"kubelet    {name} cannot register its Node: {node['kubelet']}")


def stop(directory: LabDirectory = HERE) -> None:
    """Stop the lab; its state stays in its directory."""
    _client(directory).stop()
    note("lab stopped")


def reset(directory: LabDirectory = HERE) -> None:
    """Delete all VMs, files and users; keep addresses and passwords."""
    _client(directory).call("POST", "/reset")
    note("lab reset")


def fault_add(
    kind: Annotated[str, typer.Argument(help="latency, task, vm-locked, talos-crash …")],
    settings: Annotated[
        list[str] | None,
        typer.Argument(help="key=value: path=…, vmid=…, machine=…, phase=…, seconds=…"),
    ] = None,
    directory: LabDirectory = HERE,
    output: Output = Format.TEXT,
) -> None:
    """Add a fault; docs/lab.md lists kinds and keys."""
    rule = {"kind": kind, **dict(_setting(text) for text in settings or [])}
    added = _client(directory).call("POST", "/faults", rule)
    if output is Format.JSON:
        print_json(added)
    else:
        sys.stdout.write(f"{added['id']}\n")


def _setting(text: str) -> tuple[str, Any]:
    key, separator, value = text.partition("=")
    if not separator:
        raise typer.BadParameter(f"{text!r} is not key=value")
    if key in {"vmid", "status", "times", "skip", "seed", "exit_code"}:
        return key, int(value)
    return key, float(value) if key in {"seconds", "probability"} else value


def fault_list(directory: LabDirectory = HERE, output: Output = Format.TEXT) -> None:
    """List the active faults and how often each was triggered."""
    faults = _client(directory).call("GET", "/faults")
    if output is Format.JSON:
        print_json(faults)
        return
    for fault in faults:
        sys.stdout.write(f"{fault['id']}\t{fault['kind']}\tseen {fault['seen']}\n")


def fault_clear(
    fault: Annotated[str | None, typer.Argument(help="Id of the fault (default: all).")] = None,
    directory: LabDirectory = HERE,
) -> None:
    """Remove faults; to remove those in faults.json, edit that file."""
    removed = _client(directory).call("DELETE", f"/faults/{fault}" if fault else "/faults")
    note(f"{count(removed['removed'], 'fault')} removed")
