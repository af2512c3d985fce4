"""Rotate CAs and keys: phase by phase, one node after the other, each proven before the next."""
