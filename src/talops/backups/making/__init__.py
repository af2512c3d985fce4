"""Take a backup: which member, encrypted while it arrives, read back, described."""
