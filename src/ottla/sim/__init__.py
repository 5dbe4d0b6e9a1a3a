"""The whole broker in one process on virtual time, with faults drawn from a seed (DESIGN D2)."""
