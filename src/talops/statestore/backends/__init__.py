"""The states of one inventory in the backend of `state:`: files, a state server or a bucket."""
