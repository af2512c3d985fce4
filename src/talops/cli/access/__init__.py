"""Commands for certificates, access and the rotation of keys."""
