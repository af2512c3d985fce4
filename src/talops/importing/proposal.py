"""From what was found to the files of an inventory, and the proof that they change nothing."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from talops.errors import PreflightError
from talops.importing.comparison import compare
from talops.importing.deltas import delta
from talops.importing.keys import contract_of, keys_of
from talops.importing.patches import arrange
from talops.importing.texts import cluster_text, nodes_text
from talops.inventory.files import REQUIRED_CLUSTER, REQUIRED_NODE
from talops.inventory.load import load_texts
from talops.inventory.problems import errors
from talops.machineconfig import yamltext
from talops.machineconfig.contract import Contract
from talops.machineconfig.from_inventory import requests
from talops.machineconfig.generate import generate
from talops.machineconfig.validation import find_problems

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from talops.importing.comparison import Difference
    from talops.importing.deltas import Operation
    from talops.importing.keys import Keys
    from talops.importing.model import FoundCluster, Left
    from talops.importing.patches import Patches
    from talops.inventory.model import Cluster
    from talops.machineconfig.generate import MachineConfig
    from talops.machineconfig.secrets.bundle import Bundle
    from talops.problems import FileProblem

# Each round adds what merging the patches of the round before has reset.
_ROUNDS = 4
_NEEDED = frozenset({*REQUIRED_CLUSTER, *REQUIRED_NODE, "cluster_api_addr", "mac_addr", "disk"})


@dataclass(frozen=True)
class Proposal:
    """The inventory to write; `differences` is the proof, empty if nothing would change."""

    cluster: Cluster
    cluster_text: str
    nodes_text: str
    patches: Patches
    bundle: Bundle = field(repr=False)
    configs: Mapping[str, MachineConfig] = field(repr=False)
    differences: tuple[Difference, ...]
    left: tuple[Left, ...]
    notes: tuple[str, ...]


def propose(found: FoundCluster, given: Mapping[str, Any] | None = None) -> Proposal:
    """`given`: keys that the user sets, `cluster_api_addr` or `NODE.mac_addr`."""
    cluster_keys, node_keys = keys_of(found)
    _apply(given or {}, cluster_keys, node_keys)
    bundle = replace(found.bundle, contract=contract_of(found))
    source = found.source
    cluster = _accepted(found, cluster_keys, node_keys)
    patches, configs = _patched(found, cluster, bundle, cluster_keys, node_keys)
    texts = (
        cluster_text(source, cluster_keys, patches),
        nodes_text(source, node_keys, patches),
    )
    final = load_texts(*texts).require()
    documents = {name: config.documents for name, config in configs.items()}
    return Proposal(
        final,
        *texts,
        patches,
        bundle,
        configs,
        compare(found, final, documents),
        found.left,
        found.notes,
    )


def _apply(given: Mapping[str, Any], cluster: Keys, nodes: list[Keys]) -> None:
    for name, value in given.items():
        node, _, key = name.rpartition(".")
        chosen = [keys for keys in nodes if keys["name"] == node] if node else [cluster]
        if not chosen:
            known = ", ".join(str(keys["name"]) for keys in nodes)
            raise PreflightError(f"--set {name}: no node has this name", hint=f"nodes: {known}")
        chosen[0][key] = value


def _accepted(found: FoundCluster, cluster: Keys, nodes: list[Keys]) -> Cluster:
    """Take out optional keys whose values an inventory does not allow: patches have them."""
    for _ in range(len(cluster) + sum(map(len, nodes))):
        loaded = load_texts(cluster_text(found.source, cluster), nodes_text(found.source, nodes))
        if loaded.cluster is not None:
            return loaded.cluster
        wrong = errors(list(loaded.problems))
        places = [place for each in wrong if (place := _key_at(each, cluster, nodes))]
        removed = [key for key in places if key[1] not in _NEEDED and key[1] in key[0]]
        if not removed:
            raise _refused(found, wrong)
        for keys, key in removed:
            keys.pop(key, None)
    raise AssertionError("every round removes a key")


def _key_at(problem: FileProblem, cluster: Keys, nodes: list[Keys]) -> tuple[Keys, str] | None:
    """The mapping and the key that a problem is about, by its line in the text."""
    text = (
        nodes_text("", nodes) if problem.where.file == "nodes.yaml" else cluster_text("", cluster)
    )
    lines = text.splitlines()[: problem.where.line]
    if problem.where.file != "nodes.yaml":
        found = next((ln.split(":")[0] for ln in reversed(lines) if ln[:1].isalpha()), None)
        return (cluster, found) if found else None
    entry = sum(line.startswith("    - ") for line in lines) - 1
    own = [ln for ln in lines if ln.startswith(("    - ", "      ")) and ln[6:7].isalpha()]
    return (nodes[entry], own[-1][6:].split(":")[0]) if own and entry >= 0 else None


def _refused(found: FoundCluster, wrong: Sequence[FileProblem]) -> PreflightError:
    shown = "; ".join(dict.fromkeys(f"{each.what} ({each.hint})" for each in wrong[:5]))
    more = f"; and {len(wrong) - 5} more" if len(wrong) > 5 else ""  # noqa: PLR2004
    return PreflightError(
        f"the inventory would not be valid: {shown}{more}",
        where=found.source,
        hint="add what the source does not say: --set KEY=VALUE, or --set NODE.KEY=VALUE",
    )


def _patched(
    found: FoundCluster, cluster: Cluster, bundle: Bundle, keys: Keys, node_keys: list[Keys]
) -> tuple[Patches, dict[str, MachineConfig]]:
    asked = requests(cluster, _no_file, bundle.contract)
    contract = asked.cluster.contract
    base = {node.name: generate(asked.cluster, node, bundle) for node in asked.nodes}
    deltas: dict[str, tuple[Operation, ...]] = {
        node.name: delta(base[node.name].documents, node.documents, contract)
        for node in found.nodes
    }
    extra: dict[str, dict[Any, Operation]] = {}
    for _ in range(_ROUNDS):
        patches = arrange(found.nodes, deltas, found.secret_values, extra)
        configs = _built(found.source, keys, node_keys, patches, bundle)
        missing = {
            node.name: delta(configs[node.name].documents, node.documents, contract)
            for node in found.nodes
        }
        if not any(missing.values()):
            break
        for name, operations in missing.items():
            own = extra.setdefault(name, {})
            own.update({(one.identity, one.path): one for one in operations})
    _require_valid(found, configs)
    return patches, configs


def _require_valid(found: FoundCluster, configs: Mapping[str, MachineConfig]) -> None:
    """A config that Talos would reject was not the config of a running node."""
    readable = Contract.for_version(found.talos_version)
    problems = [
        f"{name}: {text}"
        for name, config in configs.items()
        for text in find_problems(config.documents, readable)
    ]
    if problems:
        raise PreflightError(
            "Talos would not accept these machine configs: " + "; ".join(problems[:5]),
            where=found.source,
            hint="correct the source, then import it again",
        )


def _built(
    source: str, keys: Keys, nodes: list[Keys], patches: Patches, bundle: Bundle
) -> dict[str, MachineConfig]:
    loaded = load_texts(cluster_text(source, keys, patches), nodes_text(source, nodes, patches))
    texts = {
        file.path: "---\n".join(yamltext.dump(document) for document in file.documents)
        for file in patches.files
    }
    asked = requests(loaded.require(), texts.__getitem__, bundle.contract)
    return {node.name: generate(asked.cluster, node, bundle) for node in asked.nodes}


def _no_file(name: str) -> str:
    raise AssertionError(f"no patch is named yet: {name}")
