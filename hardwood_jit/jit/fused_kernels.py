"""KernelShape -> its compiled kernel: from memory, then from disk; else it is built, but not while rows are waited for.

A shape that was never built is answered by the general kernels. After the scan a child process builds it and leaves it
on disk, where the next scan finds it: compiling in a thread would hold the interpreter lock against scans, compiling in
between would let the caller wait. Without a folder to share, it is built here at the end of the second scan that
could have used it.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import numba

from hardwood_jit.jit import kernel_cache
from hardwood_jit.jit.codegen import source_of
from hardwood_jit.jit.shape import KernelShape
from hardwood_jit.kernels.compiled import FOLDER

Kernel = Callable[..., int]

_CONFIG: Any = numba.config
COMPILES = not _CONFIG.DISABLE_JIT  # without JIT the general kernels, which people can step through, do everything

CHILDREN = 2  # that a shape is given to, before it is left to the general kernels

CHILD = """
import pickle, sys
from hardwood_jit.jit.fused_kernels import FUSED
FUSED.build(pickle.load(sys.stdin.buffer))
"""


class FusedKernels:
    """The generated kernels of this process."""

    def __init__(self) -> None:
        self.building = "child"  # "child", "here" (at the end of a scan) or "never"
        self._lock = threading.Lock()
        self._kernels: dict[KernelShape, Kernel] = {}
        self._origins: dict[KernelShape, str] = {}
        self._modules: dict[KernelShape, tuple[ModuleType, str]] = {}
        self._prepared: set[str] = set()  # kernels of the package that are known to be built
        self._wanted: dict[KernelShape | str, int] = {}  # scans that could have used it
        self._tried: dict[KernelShape | str, int] = {}  # children that were to build it
        self._child: subprocess.Popen[bytes] | None = None
        if hasattr(os, "register_at_fork"):
            # Another thread may hold the lock at the moment of a fork, and in the child nobody would give it back.
            os.register_at_fork(after_in_child=self._after_fork)

    def _after_fork(self) -> None:
        self._lock = threading.Lock()
        self._child = None  # the parent's

    def find(self, shape: KernelShape) -> Kernel | None:
        """The kernel, if this process has it or the disk does; else it is noted as wanted."""
        kernel = self._kernels.get(shape)
        if kernel is not None or not COMPILES:
            return kernel
        with self._lock:
            if shape in self._kernels:
                return self._kernels[shape]
            module, signature = self._module(shape)
            if module.run._cache.has(signature, module.run.targetctx):
                return self._compile(shape, "disk")
            self._wanted.setdefault(shape, 0)
            return None

    def has_prepared(self, names: Iterable[str]) -> bool:
        """Whether these kernels of the package are in memory or on disk; else they are noted as wanted.

        For large ones that take seconds to compile, and whose work smaller ones can do.
        """
        if not COMPILES:
            return False
        missing = [name for name in names if name not in self._prepared]
        if not missing:
            return True
        with self._lock:
            for name in missing:
                if kernel_cache.is_built(name):
                    self._prepared.add(name)
                elif self.building != "never":
                    self._wanted.setdefault(name, 0)
        return self._prepared.issuperset(missing)

    def origin(self, shape: KernelShape) -> str:
        """Where the kernel came from: "disk" or "compiled"; "general" as long as there is none."""
        return self._origins.get(shape, "general")

    def build(self, shapes: Iterable[KernelShape | str]) -> int:
        """Compile (or load) generated kernels, and prepared ones by name, now; how many were not in memory."""
        built = 0
        with self._lock:
            for shape in shapes:
                if isinstance(shape, str):
                    if COMPILES:
                        kernel_cache.load(shape)
                        self._prepared.add(shape)
                    self._wanted.pop(shape, None)
                elif shape not in self._kernels:
                    module, signature = self._module(shape)
                    known = module.run._cache.has(signature, module.run.targetctx)
                    self._compile(shape, "disk" if known else "compiled")
                    self._wanted.pop(shape, None)
                    built += 1
        return built

    def build_wanted(self) -> None:
        """After a scan's last batch: have the shapes built that it could have used."""
        if not self._wanted or self.building == "never":
            return
        with self._lock:
            for shape in self._wanted:
                self._wanted[shape] += 1
            if self.building == "child" and FOLDER.path is not None:
                if self._child is not None and self._child.poll() is None:
                    return  # one at a time; the next scan asks again
                # On a full disk nothing would ever be found, and every scan would start a child.
                shapes = [shape for shape in self._wanted if self._tried.get(shape, 0) < CHILDREN]
                self._wanted = {}
                self._tried.update({shape: self._tried.get(shape, 0) + 1 for shape in shapes})
                if shapes:
                    self._child = _start_child(shapes)
                return
            ripe = [shape for shape, uses in self._wanted.items() if uses > 1 or self.building == "here"]
        self.build(ripe)

    def wait(self) -> None:
        """Until the child process is done, for tests."""
        if self._child is not None:
            self._child.wait()

    def forget(self) -> None:
        """Drop all kernels from memory, for tests."""
        with self._lock:
            for state in (self._kernels, self._origins, self._modules, self._wanted, self._tried, self._prepared):
                state.clear()

    def path(self, shape: KernelShape) -> Path | None:
        """Where the generated source can be read."""
        return None if FOLDER.path is None else Path(FOLDER.path) / f"{shape.name}.py"

    def sources(self) -> dict[str, str]:
        """Where the source of every kernel in memory can be read, by the text of its shape."""
        found = {shape.text: self.path(shape) for shape in list(self._kernels)}
        return {text: str(path) for text, path in found.items() if path is not None}

    def _module(self, shape: KernelShape) -> tuple[ModuleType, str]:
        found = self._modules.get(shape)
        if found is None:
            source, signature = source_of(shape)
            # The name is part of the disk cache's key, so another text must have another name.
            name = f"hardwood_jit.{shape.name}_{kernel_cache.digest(source)}"
            module = ModuleType(name)
            path = self.path(shape)
            module.__file__ = str(path) if path is not None else f"<{shape.text}>"
            sys.modules[name] = module  # before it compiles: the next process looks it up when it loads the kernel
            exec(compile(source, module.__file__, "exec"), module.__dict__)
            found = self._modules[shape] = (module, signature)
        return found

    def _compile(self, shape: KernelShape, origin: str) -> Kernel:
        module, signature = self._module(shape)
        path = self.path(shape)
        if origin == "compiled" and path is not None:
            with suppress(OSError):
                path.write_text(source_of(shape)[0])
        run: Any = module.run
        run.compile(signature)
        self._kernels[shape] = run
        self._origins[shape] = origin
        return run  # type: ignore[no-any-return]


def _start_child(shapes: list[KernelShape | str]) -> subprocess.Popen[bytes] | None:
    """A process of its own that outlives a scan and says nothing: a kernel that is not built is no error."""
    paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
    environment = {**os.environ, "PYTHONPATH": paths, "HARDWOOD_JIT_CACHE_DIR": str(kernel_cache.root())}
    try:
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )
        assert child.stdin is not None
        with child.stdin as pipe, suppress(BrokenPipeError):
            pipe.write(pickle.dumps(shapes))
    except OSError:
        return None
    return child


FUSED = FusedKernels()
