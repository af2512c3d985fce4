"""`talops talos` commands that change nodes: reboot, shutdown, reset, upgrade, client-config."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from talops.app.talos_nodes import name_of
from talops.cli.output import note
from talops.cli.talos.guarding import AllowUnhealthyEtcd, require_etcd
from talops.cli.talos.output import ask_all, emit
from talops.cli.talos.session import Session, connected
from talops.errors import TalopsError

if TYPE_CHECKING:
    from talops.talos.client import Talos
    from talops.waiting import Waiting

Wait = Annotated[bool, typer.Option(help="Wait until the nodes are back and running.")]
Timeout = Annotated[float, typer.Option(help="Maximum time to wait.")]


def add_to(app: typer.Typer) -> None:
    app.command("reboot")(connected(reboot))
    app.command("shutdown")(connected(shutdown))
    app.command("reset")(connected(reset))
    app.command("rollback")(connected(rollback))
    app.command("upgrade")(connected(upgrade))
    app.command("kubeconfig")(connected(kubeconfig))
    app.command("client-config")(connected(client_config))


async def reboot(
    session: Session,
    powercycle: Annotated[
        bool, typer.Option("--powercycle", help="Skip kexec and boot through the firmware.")
    ] = False,
    allow_unhealthy_etcd: AllowUnhealthyEtcd = None,
    wait: Wait = True,
    timeout: Timeout = 600,  # noqa: ASYNC109  (a flag of the command)
) -> None:
    """Reboot nodes, one after the other."""
    from talops.talos.calls.machine import RebootMode

    session.named_nodes()
    mode = RebootMode.POWERCYCLE if powercycle else RebootMode.DEFAULT
    async with session.open() as nodes:
        for node in nodes:
            await require_etcd(session, node, allow_unhealthy_etcd)
            before = await node.files.boot_id()
            await node.machine.reboot(mode)
            await _see_back(node, before, timeout if wait else 0)


async def shutdown(
    session: Session,
    force: Annotated[
        bool, typer.Option("--force", help="Do not drain the node and stop its pods first.")
    ] = False,
    allow_unhealthy_etcd: AllowUnhealthyEtcd = None,
) -> None:
    """Shut down nodes."""
    session.named_nodes()
    async with session.open() as nodes:
        for node in nodes:
            await require_etcd(session, node, allow_unhealthy_etcd)
        answers, errors = await ask_all(nodes, lambda node: node.machine.shutdown(force=force))
    _accepted("shutdown", answers, session, errors)


async def reset(
    session: Session,
    graceful: Annotated[bool, typer.Option(help="Drain the node and leave etcd first.")] = True,
    restart: Annotated[bool, typer.Option("--reboot", help="Reboot after the wipe.")] = False,
    labels: Annotated[
        list[str] | None,
        typer.Option("--label", help="Wipe only this system partition, such as EPHEMERAL."),
    ] = None,
    allow_unhealthy_etcd: AllowUnhealthyEtcd = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
) -> None:
    """Wipe nodes; the last control plane requires --no-graceful."""
    from talops.app.node_guard import refuse_protected

    session.named_nodes()
    refuse_protected(session.directory, session.nodes)
    _confirm(f"wipe {', '.join(session.nodes)}", yes=yes)
    async with session.open() as nodes:
        for node in nodes:
            await require_etcd(session, node, allow_unhealthy_etcd, for_good=True)
        answers, errors = await ask_all(
            nodes,
            lambda node: node.machine.reset(
                graceful=graceful, reboot=restart, labels=tuple(labels or ())
            ),
        )
    _accepted("reset", answers, session, errors)


async def rollback(session: Session, allow_unhealthy_etcd: AllowUnhealthyEtcd = None) -> None:
    """Boot the installation before the last upgrade."""
    session.named_nodes()
    async with session.open() as nodes:
        for node in nodes:
            await require_etcd(session, node, allow_unhealthy_etcd)
        answers, errors = await ask_all(nodes, lambda node: node.machine.rollback())
    _accepted("rollback", answers, session, errors)


async def upgrade(
    session: Session,
    image: Annotated[str, typer.Option(help="Installer image with its tag.")],
    stage: Annotated[
        bool, typer.Option("--stage", help="Before Talos 1.13: upgrade at the next boot.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Skip the health check of etcd by the node itself.")
    ] = False,
    allow_unhealthy_etcd: AllowUnhealthyEtcd = None,
    wait: Wait = True,
    timeout: Timeout = 1800,  # noqa: ASYNC109  (a flag of the command)
) -> None:
    """Upgrade Talos on nodes, one after the other, without draining them."""
    from talops.app.node_guard import require_quorum

    session.named_nodes()
    async with session.open() as nodes:
        for node in nodes:
            await require_etcd(session, node, allow_unhealthy_etcd)
            if not force and not (allow_unhealthy_etcd or ()):
                await require_quorum(node)
            before = await node.files.boot_id()
            await _install(node, image, stage=stage, force=force)
            if not stage:
                await _see_back(node, before, timeout if wait else 0)


async def kubeconfig(
    session: Session,
    path: Annotated[
        Path | None, typer.Argument(help="File to write (mode 0600; default: stdout).")
    ] = None,
) -> None:
    """Fetch an admin kubeconfig from a control plane."""
    from talops.files import PRIVATE, write_atomic

    async with session.open(control_planes=True) as nodes:
        made = await nodes[0].machine.kubeconfig()
    if path is None:
        sys.stdout.write(made.reveal())
        return
    write_atomic(path, made.reveal(), mode=PRIVATE, guarded=True)
    note(f"wrote {path}")


async def client_config(
    session: Session,
    path: Annotated[Path, typer.Argument(help="Talosconfig file to write (mode 0600).")],
    role: Annotated[
        list[str] | None, typer.Option(help="Roles of the certificate (default: os:admin).")
    ] = None,
    hours: Annotated[int, typer.Option(help="Validity of the certificate.")] = 8760,
) -> None:
    """Create a talosconfig that is signed by a control plane."""
    from talops.files import PRIVATE, write_atomic

    async with session.open(control_planes=True) as nodes:
        made = await nodes[0].machine.client_configuration(
            tuple(role or ("os:admin",)), ttl=timedelta(hours=hours)
        )
    write_atomic(path, made.talosconfig.reveal(), mode=PRIVATE, guarded=True)
    note(f"wrote {path}")


def _accepted(
    what: str,
    answers: Sequence[tuple[str, str | None]],
    session: Session,
    errors: list[TalopsError],
) -> None:
    rows = [{"node": node, "action": what, "id": actor} for node, actor in answers]
    emit(rows, ["node", "action", "id"], session.output, errors)


def _confirm(what: str, *, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise TalopsError(f"confirmation required to {what}", hint="add --yes")
    typer.confirm(f"{what[:1].upper()}{what[1:]}?", abort=True, err=True)


async def _see_back(node: Talos, before: str, timeout: float) -> None:  # noqa: ASYNC109
    if not timeout:
        note(f"{name_of(node)}: accepted")
        return
    from talops.talos.tracking import wait_for_boot

    await wait_for_boot(node, before, timeout=timeout, report=_reporter(name_of(node)))
    sys.stdout.write(f"{name_of(node)}: running {(await node.version()).tag}\n")


def _reporter(name: str) -> Callable[[Waiting], None]:
    last = ""

    def report(waiting: Waiting) -> None:
        nonlocal last
        if waiting.reason != last:
            last = waiting.reason
            note(last if last.startswith(name) else f"{name}: {last}")

    return report


async def _install(node: Talos, image: str, *, stage: bool, force: bool) -> None:
    from talops.talos.calls.upgrade import Dialect, dialect_of

    if dialect_of((await node.version()).release) is Dialect.LEGACY:
        note(f"{name_of(node)}: upgrading to {image}")
        await node.upgrade.legacy(image, stage=stage, force=force)
        return
    if stage:
        raise TalopsError("--stage is for Talos before 1.13", hint="remove --stage")
    note(f"{name_of(node)}: pulling {image}")
    pulled = await node.upgrade.pull(image)
    async for line in node.upgrade.install(pulled):
        note(f"{name_of(node)}: {line}")
    await node.machine.reboot()
