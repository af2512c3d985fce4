"""What the keys of the two files are called, and for whom."""
