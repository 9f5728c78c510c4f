"""Encodings to machine code: the only folder that calls kernels."""
