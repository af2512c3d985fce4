"""Each run that can be started, with the defaults of its command; `running.execute` runs it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.pipeline.run import Consent, Run
from talops.pipeline.runner import Options, permit
from talops.pipeline.selection import ALL, Selection

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from talops.inventory.model import Cluster, Node
    from talops.machineconfig.secrets.rotating import Rotated
    from talops.pipeline.result import RunResult
    from talops.pipeline.run import BuildStages
    from talops.pipeline.runner import Permit
    from talops.rolls.options import RollOptions
    from talops.site.enrolment.admission import Admission
    from talops.site.site import Site
    from talops.tofu.policy import Policy
    from talops.workflows.repair import Repairs

MAX_PARALLEL = 10


@dataclass(frozen=True)
class Manner:
    """The options of every run: how far it goes, and whether its plan is confirmed in advance."""

    dry_run: bool = False
    yes: bool = False
    max_parallel: int = MAX_PARALLEL


ASKING = Manner()


def up(
    site: Site,
    manner: Manner = ASKING,
    *,
    selection: Selection = ALL,
    policy: Policy | None = None,
    admission: Admission | None = None,
    rolls: RollOptions | None = None,
) -> Run:
    """`policy` is what a plan may replace or destroy, `admission` which machines may get a config;
    nothing by default. `rolls`: how nodes are taken out of service.
    """
    from talops.rolls.options import DEFAULT
    from talops.rolls.permission import permit
    from talops.site.enrolment.admission import NOTHING_SAID
    from talops.tofu.policy import Policy
    from talops.workflows import up as workflow

    allowed, said, how = policy or Policy(), admission or NOTHING_SAID, rolls or DEFAULT
    return _run(
        "up",
        site,
        lambda record: workflow.up(site, record, allowed, said, how, asks=not manner.yes),
        manner,
        Consent("talops up --yes", manner.yes),
        _after_up(site),
        selection,
        lambda plan: permit(site, how, plan),
    )


def plan(site: Site, policy: Policy) -> Run:
    """What `up` would do with these options."""
    return dataclasses.replace(up(site, Manner(dry_run=True), policy=policy), command="plan")


def down(
    site: Site,
    manner: Manner = ASKING,
    *,
    force: bool = False,
    every_layer: bool = False,
    keep_state: bool = False,
    allow_destroy: frozenset[str] = frozenset(),
) -> Run:
    from talops.workflows import down as workflow

    name = site.cluster.name
    hint = f"talops down --yes --cluster {name}"
    return _run(
        "down",
        site,
        lambda record: workflow.down(
            site,
            record,
            force=force,
            every_layer=every_layer,
            keep_state=keep_state,
            allow_destroy=allow_destroy,
        ),
        manner,
        Consent(hint, manner.yes, name, f"destroys cluster {name}"),
        afterwards("talops down", "talops up"),
    )


def reset(
    site: Site, node: str, manner: Manner = ASKING, *, force: bool = False, keep_vm: bool = False
) -> Run:
    from talops.workflows import reset as workflow

    chosen = _node(site.cluster, node)
    hint = f"talops reset --yes --node {node}"
    return _run(
        "reset",
        site,
        lambda record: workflow.reset(site, record, chosen, force=force, keep_vm=keep_vm),
        manner,
        Consent(hint, manner.yes, node, f"removes node {node}"),
        afterwards(f"talops reset --node {node}", "talops up"),
    )


def rollback(
    site: Site, node: str, manner: Manner = ASKING, rolls: RollOptions | None = None
) -> Run:
    from talops.rolls.options import DEFAULT
    from talops.rolls.permission import permit
    from talops.workflows import rollback as workflow

    chosen, how = _node(site.cluster, node), rolls or DEFAULT
    return _run(
        "rollback",
        site,
        lambda record: workflow.rollback(site, record, chosen, how),
        manner,
        Consent(f"talops rollback {node} --yes", manner.yes),
        afterwards(f"talops rollback {node}", "talops versions"),
        permit=lambda plan: permit(site, how, plan),
    )


def replace(
    site: Site,
    node: str,
    manner: Manner = ASKING,
    *,
    admission: Admission | None = None,
    rolls: RollOptions | None = None,
) -> Run:
    """Call `replaced` when it has succeeded."""
    from talops.rolls.options import DEFAULT
    from talops.rolls.permission import permit
    from talops.site.enrolment.admission import NOTHING_SAID
    from talops.workflows import replace as workflow

    chosen, said, how = _node(site.cluster, node), admission or NOTHING_SAID, rolls or DEFAULT
    return _run(
        "replace",
        site,
        lambda record: workflow.replace(site, record, chosen, said, how),
        manner,
        Consent(f"talops replace {node} --yes", manner.yes, node, f"replaces node {node}"),
        afterwards(f"talops replace {node}", "talops verify"),
        permit=lambda plan: permit(site, how, plan),
    )


async def replaced(site: Site, node: str) -> None:
    """The run has ended: another `talops replace` is another replacement."""
    from talops.rolls.removal.replacing import Replacements

    await Replacements(site).ended(node)


def recover(
    site: Site,
    manner: Manner = ASKING,
    *,
    from_snapshot: Path | None = None,
    from_copy: bool = False,
    bootstrap_again: str | None = None,
    from_backup: str | None = None,
    admission: Admission | None = None,
) -> Run:
    """`bootstrap_again` is the name of the cluster: it confirms that its etcd is lost."""
    from talops.site.enrolment.admission import Admission
    from talops.stages.restore import recovery_choice
    from talops.workflows import recover as workflow

    said = admission or Admission(any_again=True)
    choice = recovery_choice(
        site.cluster.name, from_snapshot, bootstrap_again, from_copy=from_copy, backup=from_backup
    )
    return _run(
        "recover",
        site,
        lambda record: workflow.recover(
            site, record, choice, dataclasses.replace(said, restores_etcd=bool(choice.backup))
        ),
        manner,
        Consent("talops recover --yes", manner.yes),
        afterwards("talops recover", "talops verify"),
    )


def adopt(site: Site, manner: Manner = ASKING) -> Run:
    from talops.workflows import adopt as workflow

    return _run(
        "adopt",
        site,
        lambda record: workflow.adopt(site, record),
        manner,
        Consent("talops adopt --yes", manner.yes),
        afterwards("talops adopt", "talops up", "talops verify"),
    )


def repair(site: Site, wanted: Repairs) -> Run:
    """No confirmation: it changes nothing that is in use."""
    from talops.workflows import repair as workflow

    return _run(
        "drift --fix",
        site,
        lambda record: workflow.repair(site, record, wanted),
        ASKING,
        Consent("talops drift --fix", given=True),
        lambda _: [],
    )


def split(site: Site, manner: Manner = ASKING, *, rotate: bool = False) -> Run:
    """`rotate`: the cluster gets another identity instead of its own."""
    from talops.workflows import split as workflow

    return _run(
        "secrets split",
        site,
        lambda record: workflow.split(site, record, rotate=rotate),
        manner,
        Consent("talops secrets split --yes", manner.yes),
        afterwards("talops secrets split"),
    )


def rotate(
    site: Site,
    rotated: Sequence[Rotated],
    manner: Manner = ASKING,
    *,
    restart_pods: bool = False,
    name: str = "all",
) -> Run:
    """One after the other; a rotation that has begun continues in its phase."""
    from talops.workflows import rotate as workflow

    command = f"talops rotate {name}"
    return _run(
        "rotate",
        site,
        lambda record: workflow.rotate(site, record, rotated, restart_pods=restart_pods),
        manner,
        Consent(f"{command} --yes", manner.yes),
        afterwards(command, "talops certificates"),
    )


def afterwards(command: str, *then: str) -> Callable[[RunResult], list[str]]:
    """The next commands: the same one until it succeeds, then those that follow it."""
    return lambda result: [command, "talops runs log"] if result.exit_code else [*then]


def _after_up(site: Site) -> Callable[[RunResult], list[str]]:
    """A run that ended before the stage `kubeconfig` is continued by `up`."""
    look = f"kubectl --kubeconfig {site.kubeconfig} get nodes"

    def following(result: RunResult) -> list[str]:
        then = [look, "talops verify"] if site.kubeconfig.is_file() else ["talops up"]
        return afterwards("talops up", *then)(result)

    return following


def _run(
    command: str,
    site: Site,
    build: BuildStages,
    manner: Manner,
    consent: Consent,
    next_commands: Callable[[RunResult], list[str]],
    selection: Selection = ALL,
    permit: Permit = permit,
) -> Run:
    return Run(
        command=command,
        cluster=site.cluster.name,
        root=site.root,
        build=build,
        options=Options(selection, manner.dry_run, manner.max_parallel, permit=permit),
        consent=consent,
        inventory=[site.root / "cluster.yaml", site.root / "nodes.yaml"],
        redact=site.redact,
        fence=site.fence,
        next_commands=next_commands,
    )


def _node(cluster: Cluster, name: str) -> Node:
    found = next((node for node in cluster.nodes if node.name == name), None)
    if found is None:
        raise TalopsError(
            f"this inventory does not have a node {name}",
            where="nodes.yaml",
            hint=f"existing nodes: {', '.join(cluster.node_names)}",
        )
    return found
