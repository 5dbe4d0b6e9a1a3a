"""One partition's log over a `Disk` port (DESIGN D1 to D3)."""
