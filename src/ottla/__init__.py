"""Ottla: a distributed log in Python that every Kafka client takes for Kafka."""

__version__ = "0.1.0.dev0"
