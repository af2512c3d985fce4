"""Stages for single nodes of a running cluster, through the roll."""
