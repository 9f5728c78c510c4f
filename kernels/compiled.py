"""The decorator of this folder, its disk cache, and the way a page-table kernel reports failure.

Every function decorated with `kernel` is compiled on first use and kept on disk, building blocks included, once
`hardwood_jit.jit.kernel_cache` has named a folder. One file per function, signature and CPU: processes that build the
same kernel at once write the same file, and the last one wins without harm.
"""

import hashlib
import os
import pickle
import tempfile

from numba import njit
from numba.core import config, serialize
from numba.core.compiler import CompileResult


class CacheFolder:
    """Where compiled kernels live, and what was loaded or compiled; one object, filled in by kernel_cache."""

    def __init__(self):
        self.path = None  # None: nothing is kept on disk
        self.on_compile = None  # called with a function's name before it compiles
        self.loaded = 0
        self.compiled = 0


FOLDER = CacheFolder()


class DiskCache:
    """What a Numba dispatcher asks before and after it compiles a signature."""

    cache_path = property(lambda self: FOLDER.path)

    def __init__(self, function):
        self._function = function

    def enable(self):
        """Part of the interface that dispatchers expect; the folder decides."""

    disable = flush = enable

    def _file(self, signature, magic):
        name = f"{self._function.__module__}.{self._function.__qualname__}"
        key = hashlib.sha256(repr((name, str(signature), magic)).encode()).hexdigest()[:24]
        return os.path.join(FOLDER.path, f"{name.rpartition('kernels.')[2]}-{key}.nbc")

    def load_overload(self, signature, target_context):
        target_context.refresh()
        if FOLDER.path is not None:
            try:
                with open(self._file(signature, target_context.codegen().magic_tuple()), "rb") as file:
                    payload = pickle.loads(file.read())
                result = CompileResult._rebuild(target_context, *payload)
            except FileNotFoundError:
                pass
            except (OSError, EOFError, ValueError, TypeError, AttributeError, ImportError, pickle.UnpicklingError):
                pass  # an unreadable or damaged entry is compiled anew and written over
            else:
                FOLDER.loaded += 1
                return result
        FOLDER.compiled += 1
        if FOLDER.on_compile is not None:
            FOLDER.on_compile(self._function.__qualname__)
        return None

    def save_overload(self, signature, result):
        if FOLDER.path is None or result.library.has_dynamic_globals:
            return
        payload = serialize.dumps(result._reduce())
        target = self._file(signature, result.codegen.magic_tuple())
        try:
            handle, draft = tempfile.mkstemp(dir=FOLDER.path)
            with os.fdopen(handle, "wb") as file:
                file.write(payload)
            os.replace(draft, target)
        except OSError:
            FOLDER.path = None  # read-only or full disk: this process goes on from memory


def kernel(function):
    """Compile lazily, without the GIL, and keep the machine code in the cache folder."""
    # numpy error model: no hidden division checks that raise.
    dispatcher = njit(nogil=True, error_model="numpy")(function)
    if not config.DISABLE_JIT:
        dispatcher._cache = DiskCache(function)
    return dispatcher


@kernel
def fail(code, page):
    """One negative number from a status code and the row of the page table it belongs to (see status.py)."""
    return code - page * 64
