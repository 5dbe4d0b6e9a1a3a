"""One hosted partition, and who hosts it."""
