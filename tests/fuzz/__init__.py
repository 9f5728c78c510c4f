"""Damaged files: thousands of mutations, each read in a process that may be killed."""
