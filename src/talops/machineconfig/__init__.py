"""Generate Talos machine configs, PKI and schematics. Pure: no file access."""
