"""Every name that our rules and templates use is one of the real provider's, by its own schema."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.real_provider import VERSION, settings_file

from talops.tofu import rules
from talops.tofu.plan import GUESTS, VM
from talops.tofu.policy import DISPOSABLE
from talops.toolchain import mirror

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.real_provider import Programs

pytestmark = pytest.mark.slow
GOLDEN = Path(__file__).parents[1] / "golden"
TEXTS = sorted(path.name for path in GOLDEN.glob("*.txt"))
# What OpenTofu itself understands inside any resource.
META = {
    *("count", "depends_on", "for_each", "provider", "lifecycle"),
    *("connection", "provisioner", "timeouts"),
}
HEAD = re.compile(r'^(resource|data) "(proxmox_\w+)" "[^"]+" \{$')
OPENS = re.compile(r'^(?:dynamic "(\w+)"|(\w+)) \{$')
INLINE = re.compile(r"^(\w+) \{ (.+) \}$")
SETS = re.compile(r"^(\w+) += ?(.*)$")
Path_ = tuple[str, ...]


@pytest.fixture(scope="module")
def schema(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """`tofu providers schema` of the provider that the layers require."""
    work = tmp_path_factory.mktemp("schema")
    source = f'proxmox = {{ source = "{mirror.NAMESPACE}", version = "{VERSION}" }}'
    (work / "main.tf").write_text(
        f"terraform {{\n  required_providers {{\n    {source}\n  }}\n}}\n"
    )
    settings = settings_file(programs.mirror, work)
    environment = {"HOME": str(work), "TF_CLI_CONFIG_FILE": str(settings), "TMPDIR": "/tmp"}

    def tofu(*words: str) -> str:
        command = [str(programs.engine), *words]
        return subprocess.run(
            command, cwd=work, env=environment, capture_output=True, text=True, check=True
        ).stdout

    tofu("init", "-input=false")
    (found,) = json.loads(tofu("providers", "schema", "-json"))["provider_schemas"].values()
    return dict(found)


def names_of(block: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Attributes and nested blocks of a block by name; what is in them, where anything is."""
    inner = {name: dict(each["block"]) for name, each in block.get("block_types", {}).items()}
    for name, attribute in block.get("attributes", {}).items():
        nested = attribute.get("nested_type") or _as_block(attribute.get("type"))
        inner[name] = dict(nested) if nested else {}
    return inner


def _as_block(kind: Any) -> dict[str, Any]:
    """A list of objects is written as blocks, too (network_device)."""
    if isinstance(kind, list) and isinstance(kind[1], list) and kind[1][0] == "object":
        return {"attributes": {name: {"type": each} for name, each in kind[1][1].items()}}
    return {}


def vm_names(schema: dict[str, Any], *inside: str) -> set[str]:
    block = schema["resource_schemas"][VM]["block"]
    for name in inside:
        block = names_of(block)[name]
    return set(names_of(block))


def test_the_rules_name_real_attributes(schema: dict[str, Any]) -> None:
    """A name that does not exist would never match: the rule would be dead."""
    top = vm_names(schema)
    assert rules.COMPUTED | rules.ONLINE | set(rules.SPECIAL) <= top
    assert {*rules.HOST_DEVICES, *rules.OTHER_DRIVES} <= top
    assert rules.DISK_ONLINE | {"interface", "size", "datastore_id"} <= vm_names(schema, "disk")
    for block in rules.OTHER_DRIVES:
        assert "interface" in vm_names(schema, block)
    for block in ("efi_disk", "tpm_state"):
        assert "datastore_id" in vm_names(schema, block)


def test_every_computed_attribute_of_a_vm_is_known(schema: dict[str, Any]) -> None:
    """What only the provider sets can be no cause of a change."""
    attributes = schema["resource_schemas"][VM]["block"]["attributes"]
    only_read = {
        name
        for name, each in attributes.items()
        if each.get("computed") and not each.get("optional")
    }
    assert only_read == rules.COMPUTED - {"id", "mac_addresses"}  # these two may also be set


def test_the_types_are_real(schema: dict[str, Any]) -> None:
    """Guests and downloads, by all their names."""
    assert {*GUESTS, *DISPOSABLE} <= set(schema["resource_schemas"])
    guests = {name for name in schema["resource_schemas"] if re.search(r"_(vm2?|container)$", name)}
    assert guests == set(GUESTS)


def resources(text: str) -> Iterator[tuple[str, str, Path_]]:
    """(resource or data, type, path of a name) for all that is set in a rendered file."""
    kind, type_, body = "", "", Body()
    for line in (raw.strip() for raw in text.splitlines()):
        if head := HEAD.match(line):
            kind, type_, body = head[1], head[2], Body()
        elif type_ and body.ends(line):
            type_ = ""
        elif type_:
            yield from ((kind, type_, path) for path in body.names(line))


class Body:
    """Where in a resource a line stands: `at` are the blocks around it, `depth` brackets of a value
    of several lines.
    """

    def __init__(self) -> None:
        self.at: list[str] = []
        self.depth = 0

    def ends(self, line: str) -> bool:
        return line == "}" and not self.at and not self.depth

    def names(self, line: str) -> Iterator[Path_]:
        if self.depth:
            self.depth += _balance(line)
        elif line == "}":
            self.at.pop()
        elif found := INLINE.match(line):
            yield (*self._real(), found[1])
            yield (*self._real(), found[1], found[2].split(" ")[0])
        elif found := OPENS.match(line):
            self.at.append(found[1] or found[2])
            yield from [self._real()] if found[2] != "content" else []
        elif found := SETS.match(line):
            self.depth = _balance(found[2])
            yield (*self._real(), found[1])

    def _real(self) -> Path_:
        """`content` of a dynamic block stands for the block itself."""
        return tuple(name for name in self.at if name != "content")


def _balance(text: str) -> int:
    return sum(text.count(c) for c in "{[(") - sum(text.count(c) for c in "}])")


def unknown(schema: dict[str, Any], kind: str, type_: str, path: Path_) -> bool:
    kinds = schema["resource_schemas" if kind == "resource" else "data_source_schemas"]
    if type_ not in kinds:
        return True
    if path[0] in META or path[-1] in {"for_each", "iterator"}:
        return False
    block = kinds[type_]["block"]
    for name in path:
        names = names_of(block)
        if name not in names:
            return True
        block = names[name]
    return False


@pytest.mark.parametrize("name", TEXTS)
def test_the_templates_set_real_attributes(schema: dict[str, Any], name: str) -> None:
    """Every resource, data source, block and attribute of the rendered files."""
    found = set(resources((GOLDEN / name).read_text(encoding="utf-8")))
    wrong = [each for each in found if unknown(schema, *each)]
    assert wrong == []


def test_the_templates_are_read_to_the_bottom() -> None:
    """The reader above finds the blocks in blocks: a check that sees nothing proves nothing."""
    found = {
        path for _, type_, path in resources((GOLDEN / "common.txt").read_text()) if type_ == VM
    }
    assert {
        ("cpu", "cores"),
        ("efi_disk", "type"),
        ("initialization", "ip_config", "ipv4"),
    } <= found
    assert len(found) > 50
