"""The states of a site: where they are kept, and the copies of local ones."""
