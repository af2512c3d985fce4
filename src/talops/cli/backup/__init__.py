"""`talops backup`."""
