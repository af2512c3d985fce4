"""Find, download or build the tools that talops runs, at pinned versions."""
