"""The `hardwood` command: what is in Parquet files, where it lies, and what a filter skips."""

from hardwood_jit.cli.command import main

__all__ = ["main"]
