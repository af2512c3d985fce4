"""Cluster + secrets → Talos machine configs; PKI; schematics. Pure: reads and writes nothing."""
