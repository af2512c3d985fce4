"""The documents of the API: plain values that JSON has, from which the pages are rendered, too.

`version` is increased when a key is removed, renamed or changes its meaning.
"""

from __future__ import annotations

VERSION = 1
