"""What talops does from end to end: one file per workflow, each a list of stages."""
