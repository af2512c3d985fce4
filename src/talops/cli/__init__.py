"""The command line: the only room that reads the environment, prints, and exits."""

from __future__ import annotations

import sys

from talops import __version__


def main() -> None:
    # `--version` is asked by scripts and shell prompts: it must not pay for the imports below.
    if sys.argv[1:] in (["--version"], ["-V"]):
        sys.stdout.write(f"talops {__version__}\n")
        return
    from talops.cli.app import run

    sys.exit(run(sys.argv[1:]))
