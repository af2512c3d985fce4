"""The HTTP state server: protocol, stores, access, encryption; and the clients of all backends."""
