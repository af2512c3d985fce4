"""What could run, and how the wanted versions change."""
