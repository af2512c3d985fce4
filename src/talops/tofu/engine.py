"""One layer and the engine that runs it; each method is one command of the engine."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Any

from talops.errors import ToolError
from talops.files import PRIVATE, make_private_directory, write_atomic
from talops.redaction import Redactor, Secret
from talops.tofu import process, stream
from talops.tofu.errors import failure
from talops.tofu.events import Diagnostic, Interrupted, LayerDone, LayerStarted
from talops.tofu.plan import Plan, read_plan

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from talops.events import Emit, Event
    from talops.layer import Layer

# Long enough for an interrupted run to stop and unlock the state.
LOCK_TIMEOUT = "120s"
# OpenTofu and its providers are started for seconds: collecting garbage less often saves a fifth of
# their time, as long as they are small. A user's own values take precedence.
GARBAGE = {"GOGC": "400", "GOMEMLIMIT": "1GiB"}
CHANGES = 2  # -detailed-exitcode
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")  # some commands ignore -no-color
# Warnings about what talops does on purpose: it targets single VMs to restart them one by one, and
# reads states that were written before a passphrase was set.
EXPECTED = {
    "Resource targeting is in effect",
    "Applied changes may be incomplete",
    "Unencrypted method configured",
    "execution halted",  # once per resource, after an interrupt
}


def _ignore(_: Event) -> None:
    pass


class Engine:
    """`environment` is the inherited environment; `credentials` (variable → secret) are added for
    the process of the engine only and masked in its output.
    """

    def __init__(
        self,
        program: Path,
        layer: Layer,
        *,
        environment: Mapping[str, str],
        credentials: Mapping[str, Secret] | None = None,
        emit: Emit = _ignore,
        lock_timeout: str = LOCK_TIMEOUT,
    ) -> None:
        self.program = program
        self.layer = layer
        self.emit = emit
        self._environment = environment
        self._credentials = dict(credentials or {})
        self._lock = f"-lock-timeout={lock_timeout}"
        self._redact = Redactor(self._credentials.values())

    def watch(self, listener: Emit) -> None:
        """Send events to `listener`, too."""
        told = self.emit

        def both(event: Event) -> None:
            listener(event)
            told(event)

        self.emit = both

    async def init(self, extra: Sequence[str] = (), *, settings: Path | None = None) -> None:
        """`settings` is a CLI configuration with the sources of providers, for this run only."""
        more = {"TF_CLI_CONFIG_FILE": str(settings)} if settings else {}
        await self._stream("init", ["init", "-json", "-input=false", *extra], more=more)

    async def plan(
        self,
        saved: Path,
        *,
        destroy: bool = False,
        targets: Sequence[str] = (),
        extra: Sequence[str] = (),
        step: str = "plan",
        lock: bool = True,
    ) -> bool:
        """Write a plan to `saved` (private) and return whether it has changes. Without `lock` it
        is read-only: it neither waits for the state lock nor takes it.
        """
        make_private_directory(saved.parent)
        write_atomic(saved, b"", mode=PRIVATE)
        arguments = ["-json", "-input=false", "-detailed-exitcode", f"-out={saved}"]
        arguments.append(self._lock if lock else "-lock=false")
        arguments += ["-destroy"] if destroy else []
        arguments += [f"-target={target}" for target in targets]
        code = await self._stream(step, ["plan", *arguments, *extra], fine={0, CHANGES})
        return code == CHANGES

    async def show(self, saved: Path) -> Plan:
        return read_plan(await self.show_document(saved))

    async def show_document(self, saved: Path) -> dict[str, Any]:
        """The saved plan with everything that was read; it contains secrets."""
        done = await self._run(["show", "-json", str(saved)])
        if done.code:
            raise failure(self.layer.name, "show", done.code, _diagnostics(done, self), done.errors)
        return _last_json(done.output, self.layer.name)

    async def apply(self, saved: Path, *, parallelism: int, extra: Sequence[str] = ()) -> None:
        """Apply exactly the saved plan."""
        flags = ["-json", "-input=false", self._lock, f"-parallelism={parallelism}"]
        await self._stream("apply", ["apply", *flags, *extra, str(saved)])

    async def refresh(self, extra: Sequence[str] = ()) -> None:
        """Update the state to match the real infrastructure; change nothing else."""
        flags = ["-json", "-input=false", "-refresh-only", "-auto-approve", self._lock]
        await self._stream("refresh", ["apply", *flags, *extra])

    async def import_resource(self, address: str, id_: str, extra: Sequence[str] = ()) -> None:
        flags = ["-input=false", "-no-color", self._lock, *extra]
        await self._plain(f"import {address}", ["import", *flags, address, id_])

    async def untaint(self, address: str) -> None:
        """Keep a resource in spite of an error at the end of its creation."""
        await self._plain(f"untaint {address}", ["untaint", "-no-color", self._lock, address])

    async def output(self) -> dict[str, Any]:
        """Name → {value, sensitive, type}."""
        return _last_json(await self._plain("output", ["output", "-json"]), self.layer.name)

    async def state_list(self, extra: Sequence[str] = ()) -> list[str]:
        """Addresses in the state; none if there is no state yet."""
        done = await self._run(["state", "list", *extra])
        if done.code and "No state file was found" in done.errors + done.output:
            return []
        if done.code:
            raise failure(
                self.layer.name, "state list", done.code, _diagnostics(done, self), done.errors
            )
        return [line for line in done.output.splitlines() if line]

    async def state_pull(self) -> str:
        """The whole state as text; it contains secrets, so it is never logged."""
        return await self._plain("state pull", ["state", "pull"])

    async def state_push(self, file: Path) -> None:
        """Push a state file; OpenTofu refuses an older one or another lineage."""
        await self._plain("state push", ["state", "push", self._lock, str(file)])

    async def force_unlock(self, lock: str) -> None:
        await self._plain("force-unlock", ["force-unlock", "-force", lock])

    async def validate(self) -> list[Diagnostic]:
        """Every problem in the layer; empty if it is valid."""
        done = await self._run(["validate", "-json"])
        found = _last_json(done.output, self.layer.name).get("diagnostics", [])
        return [stream.diagnostic(self.layer.name, each) for each in found]

    async def fmt(self, *, check: bool) -> list[str]:
        """Files that were formatted, or would be."""
        done = await self._run(["fmt", "-recursive", "-list=true", *(["-check"] if check else [])])
        if done.code and not (check and done.output.strip()):
            raise failure(self.layer.name, "fmt", done.code, (), done.errors)
        return done.output.split()

    async def _plain(self, step: str, arguments: Sequence[str]) -> str:
        self.emit(LayerStarted(self.layer.name, step))
        started = time.monotonic()
        done = await self._run(arguments)
        if done.code:
            raise failure(self.layer.name, step, done.code, _diagnostics(done, self), done.errors)
        self.emit(LayerDone(self.layer.name, step, round(time.monotonic() - started, 1)))
        return done.output

    async def _stream(
        self,
        step: str,
        arguments: Sequence[str],
        *,
        fine: set[int] | None = None,
        more: Mapping[str, str] | None = None,
    ) -> int:
        """Run a command with JSON lines as output and send its events to `emit`."""
        problems: list[Diagnostic] = []

        def on_line(line: str) -> None:
            event = stream.parse(self.layer.name, self._redact(line))
            if isinstance(event, Diagnostic):
                problems.append(event)
                if event.summary in EXPECTED:
                    return
            if event is not None:
                self.emit(event)

        self.emit(LayerStarted(self.layer.name, step))
        started = time.monotonic()
        done = await self._run(arguments, on_line, more)
        if done.code not in (fine or {0}):
            raise failure(self.layer.name, step, done.code, problems, self._redact(done.errors))
        self.emit(LayerDone(self.layer.name, step, round(time.monotonic() - started, 1)))
        return done.code

    async def _run(
        self,
        arguments: Sequence[str],
        on_line: Any = lambda _: None,
        more: Mapping[str, str] | None = None,
    ) -> process.Finished:
        """Secrets are passed in the environment of the child process only."""
        env = {
            **GARBAGE,
            **self._environment,
            **(more or {}),
            "TF_IN_AUTOMATION": "1",
            "TF_INPUT": "0",
            "CHECKPOINT_DISABLE": "1",
            "NO_COLOR": "1",
            **{name: secret.reveal() for name, secret in self._credentials.items()},
        }
        argv = [str(self.program), *arguments]
        return await process.run(
            argv,
            cwd=self.layer.path,
            env=env,
            on_line=on_line,
            on_stop=lambda: self.emit(Interrupted(self.layer.name)),
        )

    def redact(self, text: str) -> str:
        return self._redact(text)


def _diagnostics(done: process.Finished, engine: Engine) -> list[Diagnostic]:
    """The output of a failed command without -json, as one error."""
    plain = _COLOUR.sub("", done.errors or done.output).replace("│", " ").replace("╵", " ")
    text = engine.redact(" ".join(plain.split()))
    summary, _, detail = text.removeprefix("╷ ").removeprefix("Error: ").partition(". ")
    return [Diagnostic(engine.layer.name, "error", summary[:300], detail[:1200])] if text else []


def _last_json(output: str, layer: str) -> dict[str, Any]:
    """The JSON document in an output that may start with warnings about the CLI configuration."""
    for line in reversed(output.splitlines() or [""]):
        if line.startswith("{") and line != "{":
            try:
                found = json.loads(line)
            except ValueError:
                continue
            return dict(found)
    try:
        return dict(json.loads(output[output.index("{") :]))
    except ValueError as error:
        raise ToolError("the output is not JSON", where=layer, hint="talops infra init") from error
