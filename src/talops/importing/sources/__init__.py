"""One module per tool that clusters are imported from."""
