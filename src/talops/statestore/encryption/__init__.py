"""Encryption at rest: master keys, sealed bodies, and bringing old versions up to date."""
