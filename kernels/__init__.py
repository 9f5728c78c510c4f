"""Compiled building blocks: loops over arrays, imported as `hardwood_jit.kernels`.

A kernel sees numpy arrays and numbers only. It checks every length it follows and returns a position or count, or a
negative status (`status.py`); whoever calls it owns all buffers.
"""

if __name__ != "hardwood_jit.kernels":
    raise ImportError(
        "this folder is the package `hardwood_jit.kernels`; install the project (pip install -e .) "
        "and import it under that name"
    )
