"""A small client of Kafka's protocol: its core without sockets, and one asyncio shell."""
