"""Tests share one kernel cache folder, so that a kernel compiles once per machine and not once per test process."""

import hardwood_jit.jit.kernel_cache  # noqa: F401
from hardwood_jit.jit.fused_kernels import FUSED

# Every shape costs half a second to build: tests run on the general kernels, those of generated kernels ask for them.
FUSED.building = "never"
