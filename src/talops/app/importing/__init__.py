"""Import the cluster of another tool."""
