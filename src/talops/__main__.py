from __future__ import annotations

from talops.cli import main

main()
