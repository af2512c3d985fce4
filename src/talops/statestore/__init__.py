"""The HTTP state server (protocol, stores, access, encryption), and clients of all backends."""
