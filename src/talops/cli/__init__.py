"""The command line: the only package that reads the environment, prints and exits."""

from __future__ import annotations

import gc
import sys

from talops import __version__

# Optional imports of httpx that talops does not need: its command line with colour output, and a
# library that detects asyncio several times per request.
NOT_NEEDED = ("httpx._main", "sniffio")


def main() -> None:
    # Scripts and shell prompts call `--version`: it must not wait for the imports below.
    if sys.argv[1:] in (["--version"], ["-V"]):
        sys.stdout.write(f"talops {__version__}\n")
        return
    # Imports create many objects and no garbage.
    gc.set_threshold(50_000, 50, 50)
    for name in NOT_NEEDED:
        # With None, `import` reports the module as missing.
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]
    from talops.cli.app import run

    code = run(sys.argv[1:])
    gc.freeze()  # the process ends: garbage collection would waste time
    sys.exit(code)
