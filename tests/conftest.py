"""Tests share one kernel cache folder, so that a kernel compiles once per machine and not once per test process."""

import hardwood_jit.jit.kernel_cache  # noqa: F401
