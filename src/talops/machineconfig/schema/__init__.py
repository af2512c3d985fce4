"""Which fields a machine config has, and how two values of each are merged."""
