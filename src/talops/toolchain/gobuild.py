"""Build a tool from its Go module, in a wrapper module that pins it.

`go install pkg@version` rejects modules with `replace` lines, as in OpenTofu and Kubernetes. Go
verifies every module against the checksum database, so the version alone pins the source. Its
build cache keeps the results of an interrupted build, so the next run continues.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from talops.toolchain import process
from talops.toolchain.catalog import OWN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from talops.toolchain.catalog import Build, Tool


def module_file(build: Build, go_version: str) -> str:
    """The text of a go.mod that requires the tool and copies its replacements."""
    lines = [f"module {OWN}", "", f"go {go_version}", ""]
    if build.godebug:
        lines += [f"godebug {build.godebug}", ""]
    lines += [f"require {build.module}", ""]
    lines += [f"replace {old} => {new}" for old, new in build.replace]
    return "\n".join(lines) + "\n"


# The linker drops debug information anyway (-s -w): not writing it at all, and collecting the
# compiler's garbage less often, take a sixth off every build.
NO_DEBUG = "-gcflags=all=-dwarf=false"
GARBAGE = "400"


@dataclass(frozen=True)
class GoBuild:
    """The go command, the version that modules may require, and the progress callback. `report`
    gets the number of finished packages, the total (0 = unknown), and a detail.
    """

    go: Path
    go_version: str
    environment: Mapping[str, str]
    report: Callable[[int, int, str], None]

    async def compile(self, tool: Tool, into: Path) -> None:
        """Build the tool's programs into `into`."""
        with tempfile.TemporaryDirectory(prefix="talops-build-") as name:
            folder = Path(name)
            module = folder / "go.mod"
            module.write_text(module_file(tool.build, self.go_version), encoding="utf-8")
            sums = "".join(f"{line}\n" for line in tool.build.sums)
            module.with_suffix(".sum").write_text(sums, encoding="utf-8")
            for source in tool.build.sources:
                shutil.copy(source, folder)
            await self._compile(tool, folder, await self._stale_packages(tool, folder))
            for program, package in zip(tool.programs, tool.build.packages, strict=True):
                shutil.move(folder / "bin" / _binary(package), into / program)

    async def _stale_packages(self, tool: Tool, folder: Path) -> int:
        """Download the modules and count the packages to compile, for the progress."""

        def on_line(line: str) -> None:
            if line.startswith("go: downloading "):
                self.report(0, 0, line.removeprefix("go: "))

        template = "{{if .Stale}}{{.ImportPath}}{{end}}"
        listed = await self._go(
            folder, on_line, "list", "-deps", "-f", template, *tool.build.packages
        )
        return len(listed.split())

    async def _compile(self, tool: Tool, folder: Path, total: int) -> None:
        done = 0

        def on_line(line: str) -> None:
            nonlocal done
            if line and not line.startswith(("go: ", "#")):
                done += 1
                self.report(min(done, total), total, line)

        stamp = f" -X {tool.build.stamp}" if tool.build.stamp else ""
        flags = ["-v", f"-ldflags=-s -w{stamp}", "-o", f"{folder / 'bin'}/"]
        await self._go(folder, on_line, "build", *flags, *tool.build.packages)

    async def _go(
        self, folder: Path, on_line: Callable[[str], None], verb: str, *arguments: str
    ) -> str:
        return await process.run(
            [self.go, verb, "-mod=mod", "-trimpath", NO_DEBUG, *arguments],
            env=_environment(self.go, self.environment),
            cwd=folder,
            on_line=on_line,
        )


def _environment(go: Path, environment: Mapping[str, str]) -> dict[str, str]:
    return {
        "GOGC": GARBAGE,
        **environment,
        "CGO_ENABLED": "0",
        # Build with the selected Go; do not download another one.
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
        # The wrapper module has no .git, so there is no revision to stamp.
        "GOFLAGS": f"{environment.get('GOFLAGS', '')} -buildvcs=false".strip(),
        "PATH": f"{go.parent}:{environment.get('PATH', '')}",
    }


def _binary(package: str) -> str:
    """The name of a command built by `go build`: the last part that is not a major version."""
    parts = [part for part in package.split("/") if not (part[0] == "v" and part[1:].isdigit())]
    return parts[-1]
