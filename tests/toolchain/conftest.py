"""A small tool, a server that releases it, and a Go that builds it, all on this machine."""

from __future__ import annotations

import hashlib
import io
import threading
import zipfile
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from talops.toolchain.catalog import Build, Release, Tool, go_pin
from talops.toolchain.release import current_platform
from talops.toolchain.version import Range

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROGRAM = b'#!/bin/sh\necho "gadget 2.1.0"\n'
GO = """#!/bin/sh
case "$1" in
version) echo "go version go{version} linux/amd64" ;;
list) echo "go: downloading example.org/gadget v2.1.0" >&2; echo one; echo two ;;
build)
  {build}
  echo one >&2; echo two >&2
  while [ "$1" != "-o" ]; do shift; done
  mkdir -p "$2"
  printf '#!/bin/sh\\necho "gadget 2.1.0"\\n' > "$2/gadget"
  chmod +x "$2/gadget" ;;
esac
"""


def zipped(content: bytes = PROGRAM) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(zipfile.ZipInfo("dist/gadget"), content)
    return buffer.getvalue()


@dataclass
class Server:
    """Serves one file, with ranges; `cut` ends the first answer after so many bytes."""

    url: str
    content: bytes
    cut: int | None = None
    ranges: list[str | None] = field(default_factory=list)


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server("", zipped())

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers.get("Range")
            state.ranges.append(asked)
            start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
            body = state.content[start:]
            self.send_response(206 if asked else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: state.cut])
            state.cut = None

        def log_message(self, *_: object) -> None:
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, args=(0.02,))
    thread.start()
    state.url = f"http://127.0.0.1:{httpd.server_port}/gadget-{{version}}.zip"
    yield state
    httpd.shutdown()
    thread.join()
    httpd.server_close()


@pytest.fixture
def gadget(server: Server) -> Tool:
    """A tool with a release on `server` and a build by whichever Go is on PATH."""
    digest = hashlib.sha256(server.content).hexdigest()
    return Tool(
        "gadget",
        "2.1.0",
        Range("2.0", "3"),
        ("gadget",),
        ("--version",),
        Release(server.url, {current_platform(): digest}, "dist"),
        Build("example.org/gadget v2.1.0", ("example.org/gadget/cmd/gadget",)),
    )


def put(folder: Path, name: str, text: str | bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    path.chmod(0o755)
    return path


def put_go(folder: Path, *, version: str | None = None, build: str = "") -> Path:
    """A stand-in for `go`; `build` is shell text that runs while it builds."""
    return put(folder, "go", GO.format(version=version or go_pin().version, build=build))


def unreleased(tool: Tool) -> Tool:
    return replace(tool, release=None)
