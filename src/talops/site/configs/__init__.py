"""What is right and wrong with the config of a node."""
