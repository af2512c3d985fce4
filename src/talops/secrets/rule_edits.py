"""Add the cluster's recipient to `.sops.yaml`; every other line stays unchanged. Pure."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode

from talops.errors import TalopsError
from talops.secrets.rules import FILE, Rules, parse_rules

if TYPE_CHECKING:
    from collections.abc import Iterable

_INDENTED = 2


def with_cluster(text: str, folder: str, names: Iterable[str], recipient: str) -> str:
    """The rules with `recipient` for the files of `folder` and for no others.

    `names` are the encrypted files of the folder. A rule for this folder alone is changed; any
    other one keeps its files outside, and the folder gets a copy of it before all others.
    """
    rules = parse_rules(text)
    places = {rules.place_of(name) for name in (f"{folder}/apps/name.sops.yaml", *names)}
    wanted = sorted(place for place in places if place is not None)
    if None in places or not wanted:
        raise _unclear(f"no rule of {FILE} covers {folder}/", folder, recipient)
    if all(recipient in rules.rules[place].recipients for place in wanted):
        return text
    if len(wanted) > 1:
        raise _unclear(f"several rules of {FILE} cover {folder}/", folder, recipient)
    changed = _changed(text, rules, wanted[0], folder, recipient)
    _prove(parse_rules(changed), rules, folder, recipient)
    return changed


def _changed(text: str, rules: Rules, place: int, folder: str, recipient: str) -> str:
    node = _items(text)[place]
    age = dict(_entries(node)).get("age")
    own = rules.rules[place].path_regex.startswith(f"^{folder}/")
    if own and isinstance(age, ScalarNode) and age.value.strip():
        start, end = age.start_mark.index, age.end_mark.index
        return f"{text[:start]}{age.value.strip()},{recipient}{text[end:]}"
    return _with_copy(text, rules, place, folder, recipient)


def _with_copy(text: str, rules: Rules, place: int, folder: str, recipient: str) -> str:
    entry: dict[str, Any] = YAML(typ="safe", pure=True).load(text)["creation_rules"][place]
    if "key_groups" in entry:
        raise _unclear(f"the rule for {folder}/ has key_groups", folder, recipient)
    listed = sorted(rules.rules[place].recipients)
    copy = {
        "path_regex": rf"^{folder}/.*\.sops\.(ya?ml|json|env|ini|txt)",
        **{key: value for key, value in entry.items() if key not in {"path_regex", "age"}},
        "age": ",".join([*listed, recipient]),
    }
    out = io.StringIO()
    dumper = YAML()
    dumper.width = 4096
    dumper.dump(copy, out)
    first = _items(text)[0].start_mark
    indent = " " * (first.column - _INDENTED)
    body = [f"{indent}  {line}" for line in out.getvalue().splitlines()]
    body[0] = f"{indent}- {body[0].strip()}"
    comment = f"{indent}# What Flux applies: also for the cluster's own key, listed nowhere else."
    lines = text.splitlines(keepends=True)
    return "".join(
        [*lines[: first.line], *(f"{line}\n" for line in (comment, *body)), *lines[first.line :]]
    )


def _prove(after: Rules, before: Rules, folder: str, recipient: str) -> None:
    inside = after.recipients_for(f"{folder}/apps/name.sops.yaml") or frozenset()
    others = [rule for rule in after.rules if recipient in rule.recipients]
    outside = [rule for rule in others if not rule.path_regex.startswith(f"^{folder}/")]
    if recipient not in inside or outside or not before.recipients <= after.recipients:
        raise _unclear(f"{FILE} cannot be changed automatically", folder, recipient)


def _items(text: str) -> list[Node]:
    root: Any = YAML(typ="safe", pure=True).compose(text)
    found = dict(_entries(root))["creation_rules"]
    items: list[Node] = found.value
    return items


def _entries(node: Node) -> list[tuple[str, Node]]:
    assert isinstance(node, MappingNode)
    return [(key.value, value) for key, value in node.value]


def _unclear(what: str, folder: str, recipient: str) -> TalopsError:
    return TalopsError(
        what,
        where=FILE,
        hint=f"add a rule with path_regex ^{folder}/ and all recipients plus {recipient}, before "
        "the others; then run the same command again",
    )
