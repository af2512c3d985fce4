"""Stages that decide which nodes are part of the cluster, and return them to service."""
