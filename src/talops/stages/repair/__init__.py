"""Stages of `drift --fix`: of each layer's own stage, the changes that are safe at any time."""
