"""The quick reader of YAML reads what the thorough one reads, and refuses nothing that it takes."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from talops import quickyaml

SCALARS = [
    *("yes", "no", "on", "off", "y", "n", "true", "True", "null", "~", "abc", "'012'", '"no"'),
    *("0644", "0o17", "0x1F", "0b11", "1_000", "-012", "+1", "1e3", ".5", ".inf", "685_230.15"),
    *("1:30", "190:20:30", "2024-01-01", "2024-01-01T10:00:00Z", "v1.2.3"),
]


def thorough(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(text)


@pytest.mark.parametrize("scalar", SCALARS)
def test_scalars_are_read_alike(scalar: str) -> None:
    """Types and values, so that it does not matter who read a file."""
    text = f"a: {scalar}\n"
    assert repr(quickyaml.load(text)) == repr(thorough(text))


@pytest.mark.parametrize(
    "text",
    ["a: [https://example.org, 1]\n", "", "a: &x {b: 1}\nc: *x\n", "a: |\n  text\n  more\n"],
)
def test_what_only_one_of_them_takes(text: str) -> None:
    """Whatever is YAML is read, be it by the second reader."""
    assert quickyaml.load(text) == thorough(text)
    assert quickyaml.load_all(text) == list(YAML(typ="safe", pure=True).load_all(text))


def test_documents_keep_their_places() -> None:
    """Empty ones too."""
    assert quickyaml.load_all("a: 1\n---\n---\nb: [http://x]\n") == [
        {"a": 1},
        None,
        {"b": ["http://x"]},
    ]


@pytest.mark.parametrize("text", ["a: 1\na: 2\n", "a: [1\n", "{a: 1}: 2\n", "a: !!python/x 1\n"])
def test_what_is_wrong_is_worded_by_the_thorough_one(text: str) -> None:
    """One place for the words, whatever client met the mistake first."""
    with pytest.raises(YAMLError) as theirs:
        thorough(text)
    with pytest.raises(YAMLError) as ours:
        quickyaml.load(text)
    assert str(ours.value) == str(theirs.value)


MERGES = "\n".join(
    f"m{n}: &m{n}\n  <<: [{', '.join(f'*m{n - 1}' for _ in range(9))}]" for n in range(1, 40)
)


@pytest.mark.parametrize(
    "text",
    [
        "- " * 100_000,
        "[" * 100_000,
        "{a: " * 100_000,
        "? " * 50_000,
        "\n".join(" " * n + "a:" for n in range(3_000)),
        f"m0: &m0 {{a: 1}}\n{MERGES}\n",
        "x: &x\n  <<: *x\n",
        "a: 2024-13-45\n",
        "a: !!int x\n",
        "a: " + "9" * 5000,
        "a: !!binary x\n",
        "? {a: 1}\n: 1\n",
        "!!set [1]\n",
    ],
    ids=lambda text: text[:12],
)
def test_no_text_ends_in_another_error(text: str) -> None:
    """Neither a crash of the C parser, nor a hang, nor what a constructor of ruamel raises."""
    for read in (quickyaml.load, quickyaml.load_all):
        with contextlib.suppress(YAMLError):
            assert read(text) is not None


def test_deep_text_with_many_brackets() -> None:
    """Brackets in strings are not nested: manifests contain regular expressions."""
    text = "\n".join(f"a{n}: '[{{('" for n in range(1_000))
    assert len(quickyaml.load(text)) == 1_000
