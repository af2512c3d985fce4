"""One module per tool that clusters are exported to."""
