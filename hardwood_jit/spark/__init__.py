"""Scans on Spark: the driver plans, Python workers decode, and what a function leaves over crosses to the JVM.

```python
from hardwood_jit import col
from hardwood_jit import spark as hw_spark

spark = hw_spark.configure(SparkSession.builder).getOrCreate()  # workers start with kernels loaded
trips = hw_spark.read(spark, "trips/", columns=["id", "fare"], filter=col("fare") > 50)
```

Importing this package loads neither pyspark nor pyarrow: the daemon that Spark forks its workers from is part of it.
"""

from hardwood_jit.spark.explaining import explain
from hardwood_jit.spark.footer_cache import open_once
from hardwood_jit.spark.mapping import map_batches
from hardwood_jit.spark.reading import read, register
from hardwood_jit.spark.worker_setup import configure, pack_kernels, warm

__all__ = ["configure", "explain", "map_batches", "open_once", "pack_kernels", "read", "register", "warm"]
