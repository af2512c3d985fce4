"""Started by OpenTofu only."""

from __future__ import annotations

import os
import sys

COOKIE = "TF_PLUGIN_MAGIC_COOKIE"
VALUE = "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2"
REFUSAL = """\
This is the talops lab's stand-in for the bpg/proxmox provider. It is a plugin: OpenTofu starts it,
and only for the lab's own Proxmox. Try: talops lab start
"""


def main() -> int:
    if os.environ.get(COOKIE) != VALUE:
        sys.stderr.write(REFUSAL)
        return 1
    import asyncio

    from talops.lab.provider.server import serve

    asyncio.run(serve(os.environ))
    return 0


if __name__ == "__main__":
    # Not sys.exit: idle worker threads need not be waited for once OpenTofu has all it wanted.
    code = main()
    sys.stdout.flush()
    os._exit(code)
