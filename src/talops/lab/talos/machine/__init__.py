"""One machine of the lab: its boot, disks, services, stages and faults."""

from __future__ import annotations
