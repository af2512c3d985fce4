"""The lab's stand-in for the bpg/proxmox provider: for the lab's Proxmox and nothing else.

OpenTofu starts it as `python -m talops.lab.provider` from the filesystem mirror that `mirror`
builds. It knows the resources that talops renders and refuses every endpoint that is not on
loopback.
"""

from __future__ import annotations
