"""The calls, one file per family; each returns frozen dataclasses, never protobuf messages."""
