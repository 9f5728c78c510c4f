"""Metadata to a ScanPlan: which bytes, which rows. Never decodes, never imports numba."""
