"""The parts of cluster.yaml that say how a running cluster is operated: changes and backups."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BeforeValidator, Field

from talops.inventory.fields import Endpoint, Integer, Text, kind_of, refuse
from talops.inventory.sections import Section

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
_TIME = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")
_DURATION = re.compile(r"([0-9]+)(s|m|h)?")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}
_DAY = 24 * 3600
_AGE = re.compile(r"([0-9]+)(m|h|d|w)")
_LONG = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_LONGEST = 10 * 366 * 86400
DEFAULT_STORE = "backups"


def _time_of_day(value: Any) -> str:
    text = value.strip() if isinstance(value, str) else kind_of(value)
    if not _TIME.fullmatch(text):
        raise refuse(
            "time-of-day", f"{text!r} is not a time of day", 'write it like "22:00", in quotes'
        )
    return text


def _time_zone(value: Any) -> str:
    text = value.strip() if isinstance(value, str) else kind_of(value)
    try:
        ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise refuse(
            "time-zone",
            f"{text!r} is not a time zone of this machine",
            "write a name of the tz database, like Europe/Berlin or UTC",
        ) from None
    return text


def duration(value: Any) -> int:
    """Seconds; also written as 90s, 10m or 1h."""
    text = str(value).strip() if isinstance(value, str | int) else kind_of(value)
    found = _DURATION.fullmatch(text)
    seconds = int(found[1]) * _SECONDS[found[2] or ""] if found else 0
    if isinstance(value, bool) or not 0 < seconds <= _DAY:
        raise refuse(
            "duration",
            f"{text!r} is not a duration up to a day",
            "write seconds, or a number with a unit: 90s, 10m, 1h",
        )
    return seconds


TimeOfDay = Annotated[str, BeforeValidator(_time_of_day, json_schema_input_type=str)]
TimeZone = Annotated[str, BeforeValidator(_time_zone, json_schema_input_type=str)]
Duration = Annotated[int, BeforeValidator(duration, json_schema_input_type=int | str)]


class Window(Section):
    """`end` before `start` means the next day."""

    days: list[Day] | None = Field(
        None, description="Days on which the window opens; default: every day."
    )
    start: TimeOfDay = Field(description='When it opens, like "22:00".')
    end: TimeOfDay = Field(description='When it closes, like "04:00"; may be on the next day.')


class Maintenance(Section):
    """When talops may take nodes out of service, replace or remove them."""

    time_zone: TimeZone = Field("UTC", description="Time zone of the windows, like Europe/Berlin.")
    windows: Annotated[list[Window], Field(min_length=1)] = Field(
        description="Disruptive changes start only inside of these."
    )


class GateObject(Section):
    api_version: Text = Field(description="Like ceph.rook.io/v1.")
    kind: Text = Field(description="Like CephCluster.")
    namespace: Text | None = Field(None, description="Namespace; default: all.")
    name: Text | None = Field(None, description="Name; default: all objects of this kind.")


class Gate(Section):
    """A condition before, between and after nodes: an expression, a Job, or a command."""

    name: Text = Field(description="Name in messages.")
    object: GateObject | None = Field(None, description="Objects that `expression` is about.")
    expression: Text | None = Field(
        None, description="CEL: true if nodes may be taken out of service; `object` is the object."
    )
    job: Text | None = Field(
        None, description="File with a Kubernetes Job that must complete successfully."
    )
    command: list[Text] | None = Field(
        None, description="Program and arguments; exit code 0 opens the gate."
    )
    timeout: Duration = Field(60, description="How long one attempt may take.")


class Timeouts(Section):
    """How long talops waits before it gives up; as seconds, or like 10m."""

    boot: Duration = Field(300, description="A node boots and answers.")
    install: Duration = Field(600, description="Talos is installed and running.")
    etcd: Duration = Field(300, description="etcd is healthy.")
    kubernetes: Duration = Field(300, description="Nodes, pods and gates are ready.")
    drain: Duration = Field(300, description="The pods of a node are moved.")


def _age(value: Any) -> int:
    text = str(value).strip() if isinstance(value, str) else kind_of(value)
    found = _AGE.fullmatch(text)
    seconds = int(found[1]) * _LONG[found[2]] if found else 0
    if not 0 < seconds <= _LONGEST:
        raise refuse(
            "age", f"{text!r} is not an age", "write a number with a unit: 90m, 26h, 30d, 12w"
        )
    return seconds


Age = Annotated[int, BeforeValidator(_age, json_schema_input_type=str)]
Number = Annotated[Integer, Field(ge=0, le=10000)]


class Keep(Section):
    """A backup that one of these rules selects is kept; the last good one always is."""

    last: Number = Field(7, description="The newest ones.")
    within: Age | None = Field(None, description="All that are younger, like 3d.")
    daily: Number = Field(7, description="The newest one of each of so many days.")
    weekly: Number = Field(4, description="… of weeks.")
    monthly: Number = Field(6, description="… of months.")
    yearly: Number = Field(0, description="… of years.")


class Backup(Section):
    """Backups of etcd. See docs/backup.md."""

    store: Text = Field(
        DEFAULT_STORE, description="Directory of the backups, or s3://BUCKET/PREFIX."
    )
    endpoint: Endpoint | None = Field(None, description="Endpoint of the bucket, unless it is AWS.")
    region: Text | None = Field(None, description="Region of the bucket (default: auto).")
    max_age: Age | None = Field(
        None, description="The last backup must be younger, like 26h; otherwise verify fails."
    )
    drill: Age | None = Field(
        None, description="The last successful restore drill must be younger, like 90d."
    )
    keep: Keep = Field(default_factory=Keep, description="Which backups are kept.")
