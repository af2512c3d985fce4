"""Talos and Kubernetes of a running cluster: from the running versions to the wanted ones."""
