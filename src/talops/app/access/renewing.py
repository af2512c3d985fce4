"""Renew kubeconfig and talosconfig; a rotation does the same at the end of each phase."""

from __future__ import annotations

from talops.rotation.files import Renewed, renew_kubeconfig, renew_talosconfig

__all__ = ["Renewed", "renew_kubeconfig", "renew_talosconfig"]
