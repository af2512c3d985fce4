"""Clusters of other tools and running clusters, as an inventory of talops, and back."""
