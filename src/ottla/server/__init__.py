"""The shell: the only sockets, files, threads and clocks (DESIGN D2a)."""
