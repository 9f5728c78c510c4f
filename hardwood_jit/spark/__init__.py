"""Scans on Spark."""
