"""The command line: the only room that reads the environment, prints, and exits."""

from __future__ import annotations

import gc
import sys

from talops import __version__

# What httpx would look for and do without: a command line of its own, with all that colours its
# output; and, several times with every request, a library that tells asyncio from others.
NOT_NEEDED = ("httpx._main", "sniffio")


def main() -> None:
    # `--version` is asked by scripts and shell prompts: it must not pay for the imports below.
    if sys.argv[1:] in (["--version"], ["-V"]):
        sys.stdout.write(f"talops {__version__}\n")
        return
    for name in NOT_NEEDED:
        # What `import` takes for "there is none".
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]
    from talops.cli.app import run

    code = run(sys.argv[1:])
    gc.freeze()  # the process ends: nothing in it is worth collecting any more
    sys.exit(code)
