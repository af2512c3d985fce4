"""The states of one inventory, wherever `state:` keeps them: files, a state server or a bucket."""
