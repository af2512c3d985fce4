"""Every text is plain technical English, without the phrasings that voice rules out."""

from __future__ import annotations

import io
import re
import tokenize
from typing import TYPE_CHECKING

import pytest
from tests.texts import Text, collect, sources, texts_of

from talops.cli.app import COMMANDS, build
from talops.cli.reference import leaves

if TYPE_CHECKING:
    from collections.abc import Iterable

# What to write instead is beside each pattern.
RULED_OUT = {
    r"\b(no|some|any|every)body\b": "no user, another user, a client, every user",
    r"\bwho(so)?ever\b": "the user, the client, the holder",
    r"\banew\b": "again; create, replace or generate",
    r"\bside by side\b": "in parallel",
    r"\b(in|out of) the way\b": "blocks, conflicts; remove",
    r"\bon the way\b": "in between, in progress",
    r"\blook(s|ed|ing)? again\b": "check again, observe again",
    r"\bat hand\b": "available, current",
    r"\blets? (nobody|everybody|somebody)\b|\blet in\b": "rejects, accepts",
    r"\b(may|must|can) go\b|\bVMs? that goe?s?\b": "can be removed, allow to be destroyed",
    r"(?<!there )\b(is|are|was) no (?!longer\b|more\b|differen)": "is not a, does not exist",
    r"\b(?-i:(that|is|there is) none)\b": "is not a, does not exist",
    r"\bfound(s|ed|ing)? (an? |the )?(etcd|cluster|it anew|again)\b": "bootstrap",
    r"\bfor good\b": "permanently",
    r"\b(was|is|were|be) cut off\b": "was interrupted, is truncated",
    r"\b(was|were|been|be|is|are) made (again|afresh)\b": "is created again, is replaced",
    r"\bunder way\b": "in progress, running",
    r"\bgive(s|n)? (it )?back\b": "release",
    r"\btake(s|n)? (it )?away\b": "remove",
    r"\bgo(es)? on\?": "Apply these changes?",
    r"\bplant(s|ed|ing)? (the |a )?(secret|key)": "create",
    r"\bmakes? (him|it|them) forget\b": "revokes",
    r"\b\d+: (n?ever|always)\b": "0 = forever",
    r"\} (creates|restarts|replaces|destroys)\b": "N to create, N to restart",
    r"\ball the same\b": "anyway; use --force",
    r"\bdisturbs? (nobody|anybody|no)\b": "non-disruptive",
    r"\bthings? (is|are) in\b": "N checks failed",
    r"\bthat you will\b|\bthat talops will be\b": "a noun: the user for talops",
    r"\bquestions? who\b|\bwho are you\b": "authentication required",
    r"\btold (from|apart)\b": "distinguished from",
    r"\b(not|no longer|still) there\b|\b(there already|already there)\b": "exists, does not exist",
    r"\bsp(eaks?|oken)\b": "uses, supports, implements",
    r"(?<!`)\bforg[eo]t(s|ten)?\b": "removes, deletes",
    r"\bhangs? up\b": "closes the connection",
    r"\bby (itself|themselves)\b": "automatically",
    r"\bvery (same|own)\b": "same",
    r"\bin the middle of\b": "during",
    r"\blest\b": "so that … not",
    r"\bwants?\b": "requires; the wanted value is the desired one",
    r"\bgoes (with|away)\b|\b(is|are|has|have) gone\b": "is removed, does not exist any more",
    r"\bin (its|their) own words\b|\bin one go\b": "in one step",
}
MANNERED = {re.compile(pattern, re.IGNORECASE): better for pattern, better in RULED_OUT.items()}

# Written into files, where earlier versions of talops look for these words; an action of OpenTofu
# and the class of changes that is named after it, in `-o json` too.
KEPT = {
    "# talops: rotation to this key is under way",
    "forget",
    "| forgets | removed from the state, keeps running | `--allow-destroy NAME` |",
}

# Texts of other software, which the lab answers with byte for byte, each with its source. Only
# these: other texts of the same file are ours.
FOREIGN = {
    # PVE/JSONSchema.pm of Proxmox VE: an error of the format `pve-vlan-id-or-range`.
    "src/talops/lab/proxmox/schema/netformats.py": {
        "VLAN range must go from lower to higher tag '{…}'\n"
    },
    # The unprivileged user of Unix systems, TrueNAS among them.
    "src/talops/lab/truenas/keys.py": {"nobody"},
}

SUMMARY_LIMIT = 80


def mannered(texts: Iterable[Text]) -> list[str]:
    """Each text with a phrasing that is ruled out, and what to write instead."""
    return [
        f"{text} [{found[0]!r}: write {better}]"
        for text in texts
        if text.text not in KEPT | FOREIGN.get(text.path, set())
        for pattern, better in MANNERED.items()
        if (found := pattern.search(" ".join(text.text.split())))
    ]


def test_texts_are_plain() -> None:
    """Strings, docstrings, comments, templates and pages of every room."""
    texts = collect()
    assert len(texts) > 5000, "the collector misses most texts"
    assert mannered(texts) == []


def test_foreign_texts_are_needed() -> None:
    """Each exempt text is in its file, and would be found without the exemption."""
    found = {(text.path, text.text) for text in collect()}
    exempt = [(path, foreign) for path, texts in FOREIGN.items() for foreign in texts]
    assert [item for item in exempt if item not in found] == []
    assert all(mannered([Text("elsewhere.py", 1, "output", foreign)]) for _, foreign in exempt)


PLANTED = '''"""Whoever reads this, look again."""
import typer
def run(lock: Annotated[bool, typer.Option(help="This VM may go.")]) -> None:  # made anew
    if lock:
        raise TalopsError(f"{lock} is no lock", where="x", hint="remove what is in the way")
    typer.echo(f"somebody holds {lock}; " "found etcd")
    return "changes side by side" if lock else "the key at hand"
'''


def test_planted_phrasings_are_found() -> None:
    """The collector sees every kind of text, and the patterns find what is ruled out."""
    found = mannered(texts_of("planted.py", PLANTED))
    kinds = [line.split(": ")[1] for line in found]
    assert sorted(kinds) == sorted(
        [*["docstring"] * 2, "help", "comment", "error", "hint", *["output"] * 4]
    )
    assert {line.split(":")[1] for line in found} == {"1", "3", "5", "6", "7"}
    assert mannered(texts_of("page.md", "one line\n3 things are in the way\n"))[0].startswith(
        "page.md:2: page: "
    )


@pytest.mark.parametrize(
    "plain",
    [
        "the lock is no longer held",
        "there is no key to rotate",
        "found 3 VMs that are not in the state",
        "the VM is not a member",
        "run the same command again to continue",
    ],
)
def test_plain_texts_pass(plain: str) -> None:
    """A pattern that rules out ordinary English would be worked around."""
    assert mannered([Text("x", 1, "output", plain)]) == []


ODD_NAMES = re.compile(
    r"(?:^|_)(?:(?:no|some|any|every)body|who(?:so)?ever|anew|at_hand|in_the_way|side_by_side)(?:_|$)"
)


def odd_names(source: str) -> set[str]:
    """Names of functions, arguments, variables and attributes in the same voice."""
    words = {token.string for token in tokenize.generate_tokens(io.StringIO(source).readline)}
    return {word for word in words if ODD_NAMES.search(word.lower())}


def test_names_are_plain() -> None:
    """A reader of the code is a reader, too; the lab names the unprivileged user of Unix."""
    found = {path: odd_names(path.read_text("utf-8")) for path in sources() if path.suffix == ".py"}
    assert {str(path): names for path, names in found.items() if names} == {}


def test_odd_names_are_found() -> None:
    """As a word of a longer name; not inside another word."""
    source = "def key_at_hand(nobody): ANYBODY = renewed = handle"
    assert odd_names(source) == {"key_at_hand", "nobody", "ANYBODY"}


def helps() -> list[tuple[str, str]]:
    """The summary of each command and the help of each option."""
    found: list[tuple[str, str]] = []
    for name, command in leaves("talops", build(list(COMMANDS))):
        found.append((name, str(command.help).split("\n\n")[0]))
        found += [(f"{name} {p.opts[0]}", p.help) for p in command.params if p.opts != ["-C"]]
    return found


def test_helps_are_short() -> None:
    """One sentence that fits on a line of a terminal."""
    assert len(helps()) > 50
    assert [(name, text) for name, text in helps() if len(text) > SUMMARY_LIMIT] == []
