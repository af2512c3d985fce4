"""Templates of a foreign source: they use neither the memory nor the stack of the user."""

from __future__ import annotations

import pytest

from talops.errors import TalopsError
from talops.importing.sources.gotemplates import render

DOUBLED = '{{ $x := "0123456789" }}' + '{{ $x = printf "%s%s" $x $x }}'.replace("=", ":=", 1) * 60
HOSTILE = {
    "a wide number": '{{ printf "%9999999999d" 1 }}',
    "a width that is a value": '{{ printf "%*d" 9999999999 1 }}',
    "a deep indent": '{{ indent 9999999999 "x" }}',
    "an indent of many lines": '{{ $n := replace "a" "\\n" "' + "a" * 5_000 + '" }}'
    "{{ $m := indent 3000 $n }}",
    "doubled": DOUBLED,
    "replaced": '{{ $a := "' + "a" * 5_000 + '" }}{{ $b := replace "a" $a $a }}'
    '{{ replace "a" $b $b }}',
    "joined": '{{ $a := "' + "a" * 60_000 + '" }}{{ join $a $.many }}',
    "many values": '{{ $a := "' + "a" * 60_000 + '" }}{{ printf "%v" ' + "$a " * 100 + "}}",
    "parentheses": "{{ " + "(" * 5_000 + "1" + ")" * 5_000 + " }}",
    "branches": "{{ if true }}" * 1_000 + "x" + "{{ end }}" * 1_000,
    "a long range": "{{ range $.many }}" + "x" * 60_000 + "{{ end }}",
    "a number": "{{ " + "9" * 5_000 + " }}",
    "no such key": '{{ index $.names "x" }}',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_bounds(name: str) -> None:
    """An error with its line, before the text is made."""
    data = {"many": list(range(1_000)), "names": {}}
    with pytest.raises(TalopsError) as caught:
        render(HOSTILE[name], data, "talconfig.yaml")
    assert "talconfig.yaml" in str(caught.value.where)


def test_the_usual() -> None:
    """Widths, indents and lists of configs."""
    text = '{{ printf "%02d-%s" 7 "a" }}{{ nindent 2 "x\\ny" }}{{ join "," .many }}'
    assert render(text, {"many": [1, 2]}, "x") == "07-a\n  x\n  y1,2"
