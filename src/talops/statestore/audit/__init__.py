"""The audit of the state server: entries in blocks, each bound to the one before it."""
