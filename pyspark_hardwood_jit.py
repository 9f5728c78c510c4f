"""Spark finds this module by its name and knows the format "hardwood" without `hw_spark.register`."""

from hardwood_jit.spark.source import HardwoodDataSource as DefaultSource

__all__ = ["DefaultSource"]
