"""The stage of a rotation."""
