"""The workflows of talops: one file each, a list of stages."""
