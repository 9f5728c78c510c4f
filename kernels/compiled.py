# mypy: ignore-errors
"""The decorators of this folder, their disk cache, and the way a page-table kernel reports failure.

A `kernel` is what Python calls, a `block` a part of kernels. Both are compiled on first use and kept on disk once
`hardwood_jit.jit.kernel_cache` has named a folder. One file per function, signature and CPU: processes that build the
same kernel at once write the same file, and the last one wins without harm.

Most of the time to the first batch is Numba compiling, so it is spared what plain loops over arrays do not need: passes
over its own representation, reference counts, wrappers for callers that do not exist, the same question twice, and
machine code of blocks, of which each kernel has its own copy anyway. All of it together halves the time.
"""

import hashlib
import os
import pickle
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

from numba import _dynfunc, njit, types
from numba.core import config, serialize
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, CompileResult
from numba.core.compiler_machinery import PassManager
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering, NoPythonBackend, NopythonTypeInference, PreLowerStripPhis
from numba.core.untyped_passes import FixupArgs, IRProcessing, ReconstructSSA, TranslateByteCode


class CacheFolder:
    """Where compiled kernels live, and what was loaded or compiled; one object, filled in by kernel_cache."""

    def __init__(self):
        self.path = None  # None: nothing is kept on disk
        self.on_compile = None  # called with a function's name before it compiles
        self.loaded = 0
        self.compiled = 0


FOLDER = CacheFolder()


DIGEST_BYTES = 32


def _open_entry(entry):
    """What was saved, or ValueError: machine code in which one byte is wrong would end the process, not fail."""
    payload = entry[DIGEST_BYTES:]
    if hashlib.sha256(payload).digest() != entry[:DIGEST_BYTES]:
        raise ValueError("damaged entry")
    return pickle.loads(payload)


class DiskCache:
    """What a Numba dispatcher asks before and after it compiles a signature."""

    cache_path = property(lambda self: FOLDER.path)

    def __init__(self, function, kind):
        self._function = function
        self._kind = kind

    def enable(self):
        """Part of the interface that dispatchers expect; the folder decides."""

    disable = flush = enable

    def _file(self, signature, magic):
        name = f"{self._function.__module__}.{self._function.__qualname__}"
        key = hashlib.sha256(repr((name, self._kind, str(signature), magic)).encode()).hexdigest()[:24]
        return Path(FOLDER.path, f"{name.rpartition('kernels.')[2]}-{key}.nbc")

    def has(self, signature, target_context):
        """Whether the disk has this signature; what is damaged there counts, too, and is compiled anew."""
        if FOLDER.path is None:
            return False
        return self._file(signature, target_context.codegen().magic_tuple()).exists()

    def load_overload(self, signature, target_context):
        target_context.refresh()
        if FOLDER.path is not None:
            try:
                entry = self._file(signature, target_context.codegen().magic_tuple()).read_bytes()
                result = CompileResult._rebuild(target_context, *_open_entry(entry))
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
        digest = hashlib.sha256(payload).digest()
        target = self._file(signature, result.codegen.magic_tuple())
        draft = None
        try:
            handle, draft = tempfile.mkstemp(dir=FOLDER.path)
            with os.fdopen(handle, "wb") as file:
                file.write(digest + payload)
            Path(draft).replace(target)
        except OSError:
            FOLDER.path = None  # read-only or full disk: this process goes on from memory
            if draft is not None:
                with suppress(OSError):
                    Path(draft).unlink()


_ANSWERS = {}  # (function, argument types) -> signature


class RememberedTypes:
    """Numba's typing context, asked once what an operator makes of some number types instead of at every use of it."""

    def __init__(self, context):
        self._context = context

    def __getattr__(self, name):
        return getattr(self._context, name)

    def resolve_function_type(self, function, args, kws):
        if kws or not isinstance(function, (types.Function, types.NumberClass)):
            return self._context.resolve_function_type(function, args, kws)
        # As Numba does, without the values of constants first: `x & 15` and `x & 31` are one question.
        plain = tuple([types.unliteral(arg) for arg in args])
        answer = _ANSWERS.get((function, plain))
        if answer is None:
            if not all(isinstance(arg, (types.Number, types.Boolean)) for arg in plain):
                return self._context.resolve_function_type(function, args, kws)
            answer = self._context.resolve_function_type(function, plain, kws)
            _ANSWERS[function, plain] = answer
        return answer


class KernelCompiler(CompilerBase):
    """Those of Numba's passes that plain loops over arrays need."""

    def define_pipelines(self):
        self.state.typingctx = RememberedTypes(self.state.typingctx)
        manager = PassManager("kernel")
        for step in (
            TranslateByteCode,
            FixupArgs,
            IRProcessing,
            ReconstructSSA,
            NopythonTypeInference,
            PreLowerStripPhis,
            NativeLowering,
            NoPythonBackend,
        ):
            manager.add_pass(step, step.__name__)
        manager.finalize()
        return [manager]


class BlockLibrary(JITCodeLibrary):
    """LLVM code to link into callers, which optimise it there; not optimised and not assembled by itself."""

    def _optimize_final_module(self):
        pass

    def _finalize_final_module(self):
        self._finalize_dynamic_globals()
        self._finalized = True

    def serialize_using_object_code(self):
        return self.serialize_using_bitcode()


def _not_executable(library, fndesc, env):
    """What a block has in place of its entry point for Python: a function object to know it by, without an address."""
    return _dynfunc.make_function(fndesc.lookup_module(), fndesc.qualname, "a block", 0, env, (library,))


class BlockCompiler(KernelCompiler):
    """As KernelCompiler, into a BlockLibrary."""

    def define_pipelines(self):
        context = self.state.targetctx  # a copy that belongs to this compilation
        context.get_executable = _not_executable
        self.state.library = BlockLibrary(context.codegen(), self.state.func_id.func_qualname)
        return super().define_pipelines()


class BlockDispatcher(CPUDispatcher):
    """A block. Called from Python, as tests do, it is compiled once more, as a kernel."""

    def __call__(self, *args):
        return _as_kernel(self.py_func)(*args)

    def get_call_template(self, args, kws):
        # A constant is a number like any other: f(x, 0) and f(x, 1) are compiled once.
        return super().get_call_template(tuple([types.unliteral(arg) for arg in args]), kws)


# Without the GIL; the numpy error model has no hidden division checks that raise; kernels own no memory to count.
_OPTIONS = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, "_nrt": False}


def kernel(function):
    """A function that Python calls, and other kernels may call."""
    dispatcher = njit(**_OPTIONS, pipeline_class=KernelCompiler)(function)
    if not config.DISABLE_JIT:
        dispatcher._cache = DiskCache(function, "kernel")
    return dispatcher


def quick_kernel(function):
    """A kernel of a few microseconds, which keeps the GIL: giving it away and waiting for it again takes longer."""
    dispatcher = njit(**{**_OPTIONS, "nogil": False}, pipeline_class=KernelCompiler)(function)
    if not config.DISABLE_JIT:
        dispatcher._cache = DiskCache(function, "quick")
    return dispatcher


_as_kernel = cache(kernel)


def block(function):
    """A function for kernels and other blocks to call."""
    dispatcher = njit(**_OPTIONS, pipeline_class=BlockCompiler, no_cpython_wrapper=True)(function)
    if not config.DISABLE_JIT:
        dispatcher.__class__ = BlockDispatcher
        dispatcher._cache = DiskCache(function, "block")
    return dispatcher


@block
def fail(code, page):
    """One negative number from a status code and the row of the page table it belongs to (see status.py)."""
    return code - page * 64
