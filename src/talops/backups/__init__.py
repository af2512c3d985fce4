"""Backups of etcd: taken, encrypted, counted, kept, proven and restored."""
