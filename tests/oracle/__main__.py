"""Build the programs that ask the Talos library, before the tests start: python -m tests.oracle."""

from __future__ import annotations

import asyncio
import os
import sys

from tests.oracle.tools import oracle_tools

from talops.cli.tools.progress import progress
from talops.errors import TalopsError
from talops.toolchain.install import Toolchain


async def build() -> None:
    tools = oracle_tools()
    with progress() as emit:
        # One after the other: most of the second is in the compiler's cache once the first is done.
        for name in tools:
            await Toolchain(os.environ, emit=emit, ways=("cache", "build"), tools=tools).ensure(
                name
            )


if __name__ == "__main__":
    try:
        asyncio.run(build())
    except TalopsError as error:
        sys.exit(f"{error}\n{error.hint or ''}")
