"""Byte ranges to decompressed pages."""
