"""The node: one broker as a deterministic object (DESIGN D2)."""
