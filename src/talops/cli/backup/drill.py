"""`talops backup drill`: prove that a backup can be restored, without hardware."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from talops.cli.options import Directory, Format, Output
from talops.cli.output import note, print_json

if TYPE_CHECKING:
    from talops.lab.kubernetes.pki import KeyPair
    from talops.lab.kubernetes.restored import Programs, RestoredControlPlane
    from talops.machineconfig.secrets.bundle import Bundle
    from talops.machineconfig.secrets.pki import Pair
    from talops.site.site import Site


def drill(
    backup: Annotated[str, typer.Argument(help="Backup id, or 'latest'.", metavar="ID")] = "latest",
    directory: Directory = None,
    output: Output = Format.TEXT,
) -> None:
    """Restore a backup into a control plane in memory, and compare every object."""
    from talops.app.backups import drilling
    from talops.cli.opening import site_of
    from talops.plural import count

    assert directory is not None
    site = site_of(directory)
    programs = _programs(site)
    services = str(site.cluster.svc_cidr)

    def plane(place: Path, bundle: Bundle) -> RestoredControlPlane:
        return _plane(place, bundle, programs, services)

    done = asyncio.run(drilling.drill(site, backup, plane, note))
    if output is Format.JSON:
        print_json(done.as_dict())
    else:
        for kind in done.unserved:
            note(f"{kind}: in etcd, but no API serves it")
        for difference in done.differences:
            note(difference)
        kinds, seconds = count(done.kinds, "kind"), f"{done.seconds:.0f} s"
        verdict = "passed" if done.passed else "failed"
        typer.echo(f"{done.backup}  {verdict}: {done.objects} objects of {kinds} in {seconds}")
    if not done.passed:
        raise typer.Exit(1)


def _programs(site: Site) -> Programs:
    from talops.cli.tools.progress import progress
    from talops.lab.kubernetes.restored import Programs
    from talops.toolchain.install import Toolchain

    async def ensure(*names: str) -> list[Path]:
        with progress() as emit:
            chain = Toolchain(site.environment, emit=emit)
            return [(await chain.ensure(name)).path for name in names]

    return Programs(*asyncio.run(ensure("etcd", "etcdutl", "kube-apiserver")))


def _plane(place: Path, bundle: Bundle, programs: Programs, services: str) -> RestoredControlPlane:
    from talops.lab.kubernetes.restored import Authorities, RestoredControlPlane

    authorities = Authorities(
        etcd=_pair(bundle.etcd),
        kubernetes=_pair(bundle.k8s),
        aggregator=_pair(bundle.aggregator),
        service_account=base64.b64decode(bundle.service_account.reveal()),
        secretbox=bundle.secretbox_keys,
        aescbc=bundle.aescbc.reveal(),
    )
    return RestoredControlPlane(place, programs, authorities, services)


def _pair(pair: Pair) -> KeyPair:
    from talops.lab.kubernetes.pki import KeyPair

    return KeyPair(base64.b64decode(pair.crt), base64.b64decode(pair.key.reveal()))
