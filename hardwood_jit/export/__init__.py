"""Batches to other libraries' objects."""
