"""Tests share one kernel cache folder, so that a kernel compiles once per machine and not once per test process."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

import hardwood_jit as hw
import hardwood_jit.jit.kernel_cache
from hardwood_jit.jit import group_kernel, lookup_kernel
from hardwood_jit.jit.fused_kernels import FUSED

# Every shape costs half a second to build: tests run on the general kernels, those of generated kernels ask for them.
FUSED.building = "never"

# No test measures time: a machine may be busy, and the first example may compile a kernel.
settings.register_profile("hardwood_jit", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("hardwood_jit")


@pytest.fixture(autouse=True, scope="session")
def kernels_of_whole_groups() -> None:
    """Whether these are used must not depend on what the disk has by chance."""
    FUSED.build([*group_kernel.KERNELS, *lookup_kernel.KERNELS])


@pytest.fixture(autouse=True)
def forgotten_footers() -> Iterator[None]:
    """What a test counts must not depend on the footers that another one has left."""
    hw.footer_cache.clear()
    yield
