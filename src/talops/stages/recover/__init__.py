"""What `talops recover` does beside the stages of `up`: salvage, adopt, restore."""
