"""Whether a cluster was bootstrapped before: what is on record, and what its machines show."""
