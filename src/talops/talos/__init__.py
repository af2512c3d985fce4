"""The Talos API client: gRPC with mutual TLS, or with none in maintenance mode."""
