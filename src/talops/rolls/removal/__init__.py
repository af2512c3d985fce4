"""Nodes leave the cluster permanently."""
