"""`talops` on PATH: asks the server of tests/prepared.py for a fork with these three files.

Runs without site-packages, so that it starts in a few milliseconds.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys


def main() -> int:
    here = os.getcwd()  # noqa: PTH109  (its import takes longer than all of this)
    asked = json.dumps({"words": sys.argv[1:], "cwd": here, "env": dict(os.environ)}).encode()
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    line.connect(os.environ["TALOPS_TEST_SOCKET"])
    line.sendall(len(asked).to_bytes(4, "big"))
    socket.send_fds(line, [b"x"], [0, 1, 2])
    line.sendall(asked)
    answers = line.makefile("rb")
    pid = int(answers.readline())
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda got, _: os.kill(pid, got))
    code = os.waitstatus_to_exitcode(int(answers.readline()))
    return 128 - code if code < 0 else code


if __name__ == "__main__":
    sys.exit(main())
