"""Docs and texts are spelt as a dictionary or tests/words.txt, the words of our field, has them."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from spellchecker import SpellChecker
from tests.texts import Text, collect, texts_of

if TYPE_CHECKING:
    from collections.abc import Iterable

WORDS = Path(__file__).parent / "words.txt"
# What is typed or read by programs: code spans, addresses, paths, placeholders, identifiers.
CODE = re.compile(
    r"`[^`]*`|\(#[^)]*\)|noqa\S*|type: ignore\S*|\{\{?.*?\}?\}|\$\{[^}]*\}|<[^>]*>|\[/?\w+\]"
    r"|https?://\S+|[\w.@~*:-]*[/\\=@][\S]*"
    r"|\b\w*[_\d]\w*\b|\b[A-Z]+s?\b|\b\w+[a-z][A-Z]\w*|[\w-]+\.[\w.-]+|--?[a-z][\w-]*|%[a-z]"
)
WORD = re.compile(r"[a-z]+(?:'[a-z]+)?", re.IGNORECASE)
SHORTEST = 3
# Other strings of Python files may be keys, queries and protocols: only sentences are read.
PROSE = {"error", "hint", "help", "docstring", "comment"}
# The wire of others, in the words of others.
FOREIGN = ("src/talops/lab/proxmox/", "src/talops/lab/talos/", "src/talops/machineconfig/schema/")


@cache
def dictionary() -> SpellChecker:
    checker = SpellChecker(language="en", distance=1)
    checker.word_frequency.load_words(words())
    return checker


def words() -> list[str]:
    return WORDS.read_text(encoding="utf-8").split()


def prose(texts: Iterable[Text]) -> list[Text]:
    """Without code: fenced blocks of pages, and strings that are no sentence."""
    kept, fenced = [], False
    for text in texts:
        if text.kind == "page":
            if text.text.lstrip().startswith("```"):
                fenced = not fenced
            if text.path.endswith(".md") and not fenced:
                kept.append(text)
        elif text.kind in PROSE or (sentence(text.text) and not text.path.startswith(FOREIGN)):
            kept.append(text)
    return kept


def sentence(text: str) -> bool:
    """At least three words, and hardly anything else."""
    plain = re.findall(r"\b[a-z]{2,}\b", CODE.sub(" ", text))
    return len(plain) >= 3 and len(plain) > len(text.split()) * 0.7


def misspelt(texts: Iterable[Text]) -> list[str]:
    """Position and word of everything that neither list has."""
    found = []
    for text in prose(texts):
        plain = CODE.sub(" ", text.text)
        tokens = {w.lower().removesuffix("'s") for w in WORD.findall(plain) if len(w) >= SHORTEST}
        found += [f"{text.path}:{text.line}: {word}" for word in dictionary().unknown(tokens)]
    return sorted(found)


def test_texts_are_spelt_right() -> None:
    """Errors, hints, helps, docstrings, comments, sentences and pages of all rooms."""
    texts = collect()
    assert len(prose(texts)) > 5000, "most texts are missed"
    assert misspelt(texts) == [], "correct them, or add a word of our field to tests/words.txt"


def test_planted_mistakes_are_found() -> None:
    """In each kind of text, but not in code."""
    module = (
        '"""Recieve it."""\n# an occured erorr\nraise E("the state is seperate", hint="adress")\n'
    )
    assert misspelt(texts_of("x.py", module)) == [
        "x.py:1: recieve",
        "x.py:2: erorr",
        "x.py:2: occured",
        "x.py:3: adress",
        "x.py:3: seperate",
    ]
    page = "Run `tlaops` in wich place\n```\ntlaops up\n```\nuntill https://exmaple.test\n"
    assert misspelt(texts_of("page.md", page)) == ["page.md:1: wich", "page.md:5: untill"]


def test_words_are_sorted_and_needed() -> None:
    """One word per line, none twice, none that the dictionary has anyway."""
    assert words() == sorted(set(words()))
    plain = SpellChecker(language="en", distance=1)
    assert plain.known(words()) == set()
