"""Change configs of nodes that serve a cluster: in order, tried first, proven, by a roll."""
