"""The fields of a machine config, and how two values of each are merged."""
