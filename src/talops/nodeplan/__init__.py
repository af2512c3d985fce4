"""What a new inventory means for the nodes of a running cluster, and in which order. Pure."""
