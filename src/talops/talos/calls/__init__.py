"""The calls, one file per family; each gives frozen dataclasses, never protobuf messages."""
