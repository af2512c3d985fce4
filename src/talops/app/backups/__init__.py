"""The commands of `talops backup`, for any face."""
