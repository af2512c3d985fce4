"""From prior state and configuration to the planned state, and what forces a replacement.

Two ways, because the real provider has two halves. The older one plans attribute by attribute and
leaves alone whatever is neither configured nor defaulted; the newer one marks what it computes as
unknown as soon as anything changes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from talops.lab.provider.schema import Block, conform
from talops.lab.provider.values import UNKNOWN, Values, is_zero, same

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.lab.provider.kinds import Remark
    from talops.lab.provider.schema import Attribute, NestedBlock

Path = tuple[str | int, ...]


@dataclass
class Plan:
    planned: Values
    replace: list[Path] = field(default_factory=list)
    private: dict[str, int] = field(default_factory=dict)
    warnings: list[Remark] = field(default_factory=list)


def plan_legacy(block: Block, prior: Values | None, config: Values) -> Plan:
    plan = Plan({})
    plan.planned = _Legacy(plan.replace, creating=prior is None).block(block, prior, config, ())
    return plan


class _Legacy:
    def __init__(self, replace: list[Path], *, creating: bool) -> None:
        self._replace = replace
        self._creating = creating

    def block(self, block: Block, prior: Values | None, config: Values, at: Path) -> Values:
        old = prior or {}
        out: Values = {}
        for name, item in block.attributes.items():
            out[name] = self._attribute(item, old.get(name), config.get(name), (*at, name))
        for name, nested in block.blocks.items():
            out[name] = self._blocks(nested, old.get(name), config.get(name), (*at, name))
        return out

    def _attribute(self, item: Attribute, old: Any, config: Any, at: Path) -> Any:
        if item.elements is not None and config is not None and config is not UNKNOWN:
            new: Any = self._elements(item.elements, old, config, at)
        else:
            new = self._wanted(item, old, config)
        if item.suppress and not self._creating and new is not UNKNOWN and item.suppress(old, new):
            return old
        if new is not UNKNOWN and _unchanged(old, new):
            return new if self._creating else old
        if item.force_new and not self._creating:
            self._replace.append(at)
        return new

    def _wanted(self, item: Attribute, old: Any, config: Any) -> Any:
        if config is not None:
            return config
        if item.is_computed and not (self._creating and is_zero(old)):
            return old if not is_zero(old) or item.default is None else item.default
        if item.default is not None:
            return item.default
        return UNKNOWN if item.is_computed else None

    def _elements(self, block: Block, old: Any, config: list[Values], at: Path) -> list[Values]:
        before = old or []
        return [
            self._element(block, before[i] if i < len(before) else None, element, (*at, i))
            for i, element in enumerate(config)
        ]

    def _element(self, block: Block, old: Any, config: Any, at: Path) -> Any:
        return UNKNOWN if config is UNKNOWN else self.block(block, old, config or {}, at)

    def _blocks(self, nested: NestedBlock, old: Any, config: Any, at: Path) -> Any:
        if config is UNKNOWN:
            return UNKNOWN
        if not config and nested.computed:
            return UNKNOWN if self._creating else old
        held = len(self._replace)
        new = self._elements(nested.block, old, config or [], at)
        if nested.suppress and not self._creating and nested.suppress(old or [], new):
            del self._replace[held:]
            return old
        if nested.force_new and not self._creating and not same(old, new):
            self._replace.append(at)
        return new


def _unchanged(old: Any, new: Any) -> bool:
    """A number or flag that was never told is not the same as a default of zero."""
    if old is None and new is not None:
        return new in ("", [])
    return same(old, new)


def plan_modern(block: Block, prior: Values | None, config: Values) -> Plan:
    wanted = _modern_values(block, prior, config)
    if prior is not None and conform(block, wanted) == conform(block, prior):
        return Plan({**prior})
    planned = {
        name: _modern_computed(block.attributes.get(name), prior, config, name, value)
        for name, value in wanted.items()
    }
    return Plan(planned, [] if prior is None else _modern_replacements(block, prior, planned))


def _modern_values(block: Block, prior: Values | None, config: Values) -> Values:
    """Configuration, then defaults, then what was there before."""
    out: Values = {}
    for name, item in block.attributes.items():
        value = config.get(name)
        if value is None and item.default is not None:
            value = item.default
        elif value is None and item.is_computed:
            value = prior.get(name) if prior else UNKNOWN
        elif isinstance(value, dict) and item.nested is not None:
            before = (prior or {}).get(name)
            value = _modern_values(Block(item.nested.attributes), before, value)
        elif isinstance(value, list):
            value = _sorted_set(item, value)
        out[name] = value
    for name, nested in block.blocks.items():
        value = config.get(name)
        if isinstance(value, dict):
            value = _modern_values(nested.block, (prior or {}).get(name), value)
        out[name] = value
    return out


def _sorted_set(item: Attribute, value: list[Any]) -> list[Any]:
    """Sets have no order: the same one for the comparison as for the state."""
    plain = isinstance(item.type, list) and item.type[0] == "set" and UNKNOWN not in value
    return sorted(value) if plain else value


def _modern_computed(
    item: Attribute | None, prior: Values | None, config: Values, name: str, value: Any
) -> Any:
    if item is None or config.get(name) is not None or item.default is not None:
        return value
    if not item.is_computed or (item.keep and prior is not None):
        return value
    return UNKNOWN


def _modern_replacements(block: Block, prior: Values, planned: Values) -> list[Path]:
    return [
        (name,)
        for name, item in block.attributes.items()
        if item.force_new and not same(prior.get(name), planned.get(name))
    ]


def changed(prior: Values, planned: Values, name: str) -> bool:
    return not same_value(prior.get(name), planned.get(name))


def same_value(left: Any, right: Any) -> bool:
    """`same`, all the way down: a null inside a block equals a zero there."""
    if isinstance(left, list) and isinstance(right, list):
        if len(left) != len(right):
            return False
        return all(same_value(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, dict) and isinstance(right, dict):
        return all(same_value(left.get(k), right.get(k)) for k in _keys(left, right))
    return same(left, right)


def _keys(left: Mapping[str, Any], right: Mapping[str, Any]) -> set[str]:
    return set(left) | set(right)
