"""The controller's side of CSI drivers: volumes are created, attached and detached, but are empty.

The attach-detach controller itself is the real one, in the controller manager.
"""

from __future__ import annotations
