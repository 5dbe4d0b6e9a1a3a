"""The metadata quorum. Of one voter for now: its seam is `replica.py` (DESIGN D5)."""
