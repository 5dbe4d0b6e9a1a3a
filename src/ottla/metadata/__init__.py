"""What the cluster knows, as records, an image that only replay changes, and commands."""
