"""Which machine is a node: what it proves before it gets a config, and the record of it."""
