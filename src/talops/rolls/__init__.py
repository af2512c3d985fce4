"""One node after the other: the only way in which talops stops a node of a running cluster."""
