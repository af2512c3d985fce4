"""Docs and texts are spelt as a dictionary or tests/words.txt, the words of our field, has them."""

from __future__ import annotations

import re
from dataclasses import replace
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
# Strings of Python files that are prose even if they are a single word.
PROSE = {"error", "hint", "help", "docstring", "comment"}
# Queries of databases, and files that list names of Proxmox and Talos: no sentence of ours.
QUERY = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|WITH|DROP|ALTER|PRAGMA)\b")
NAMES = {
    "src/talops/lab/proxmox/storage/config.py",
    "src/talops/lab/proxmox/vm/params.py",
    "src/talops/lab/talos/config/known_keys.py",
}
# Of a template, a script or data: its comments, and its quoted strings with more than one word.
QUOTED = re.compile(r"(?:#+|//)\s.*|\"[^\"]* [^\"]*\"")


@cache
def dictionary() -> SpellChecker:
    checker = SpellChecker(language="en", distance=1)
    checker.word_frequency.load_words(words())
    return checker


def words() -> list[str]:
    return WORDS.read_text(encoding="utf-8").split()


def prose(texts: Iterable[Text]) -> list[Text]:
    """What a reader reads: pages without fenced code, and strings that are not just a name."""
    kept, fenced, hidden = [], False, False
    for text in texts:
        if text.path.endswith(".md"):
            if text.text.lstrip().startswith("```"):
                fenced = not fenced
            hidden = (hidden or "<!--" in text.text) and "-->" not in text.text
            if not fenced and not hidden:
                kept.append(text)
        elif text.kind == "page":
            kept.append(replace(text, text=_shown(text)))
        elif text.kind in PROSE or sentence(text):
            kept.append(text)
    return kept


def _shown(text: Text) -> str:
    """The prose of one line of a template or a script."""
    return text.text if ".html" in text.path else " ".join(QUOTED.findall(text.text))


def sentence(text: Text) -> bool:
    """Other strings may be keys or types: a text of two words is neither."""
    return " " in text.text.strip() and text.path not in NAMES and not QUERY.match(text.text)


def misspelt(texts: Iterable[Text]) -> list[str]:
    """Position and word of everything that neither list has."""
    found = []
    for text in prose(texts):
        plain = CODE.sub(" ", text.text)
        tokens = {w.lower().removesuffix("'s") for w in WORD.findall(plain) if len(w) >= SHORTEST}
        found += [f"{text.path}:{text.line}: {word}" for word in dictionary().unknown(tokens)]
    return sorted(found)


def test_texts_are_spelt_right() -> None:
    """Every string of two words, help, docstring, comment, template and page of all rooms."""
    texts = collect()
    assert len(prose(texts)) > 5000, "most texts are missed"
    assert misspelt(texts) == [], "correct them, or add a word of our field to tests/words.txt"


def test_planted_mistakes_are_found() -> None:
    """In each kind of text, but not in code."""
    module = (
        '"""Recieve it."""\n# an occured erorr\nraise E("the state is seperate", hint="adress")\n'
        'echo(f"{name} destoyed")\nquery = "SELECT lineage FROM tabel"\n'
    )
    assert misspelt(texts_of("x.py", module)) == [
        "x.py:1: recieve",
        "x.py:2: erorr",
        "x.py:2: occured",
        "x.py:3: adress",
        "x.py:3: seperate",
        "x.py:4: destoyed",
    ]
    page = "Run `tlaops` in wich place\n```\ntlaops up\n```\nuntill https://exmaple.test\n"
    assert misspelt(texts_of("page.md", page)) == ["page.md:1: wich", "page.md:5: untill"]
    template = 'resource = "foobaz" # a tempalte\nerror_message = "does not exsit"\n'
    assert misspelt(texts_of("main.tf.j2", template)) == [
        "main.tf.j2:1: tempalte",
        "main.tf.j2:2: exsit",
    ]
    assert misspelt(texts_of("report.html.j2", "<p class=x>No chnages</p>\n")) == [
        "report.html.j2:1: chnages"
    ]


def test_words_are_sorted_and_needed() -> None:
    """One word per line, none twice, none that the dictionary has anyway."""
    assert words() == sorted(set(words()))
    plain = SpellChecker(language="en", distance=1)
    assert plain.known(words()) == set()
