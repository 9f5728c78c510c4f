"""Spark finds this module by its name."""
