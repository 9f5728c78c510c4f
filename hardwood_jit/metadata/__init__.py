"""Bytes to frozen metadata: footer, schema, page index, bloom filter. No decisions."""
