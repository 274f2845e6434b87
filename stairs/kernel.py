"""How kernels are compiled: once, when they are first needed, into Numba's cache on disk."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import numba as nb
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

from stairs.kernel_cache import KernelCache

known: dict[str, Any] = {}
"""Every kernel of the modules that are loaded, by the names of its module and of its function."""


def kernel(
    signature: Any,
    name: str | None = None,
    makes_arrays: bool = False,
    **options: Any,
) -> Callable[[Callable[..., Any]], Any]:
    """A function that is compiled for exactly one signature, without the interpreter lock, cached on disk.

    That happens when it is first called, or when a kernel that calls it is compiled: see `Pending`. What is cached
    holds while no source that its module depends on changes (`kernel_cache.fingerprint`); ``options`` go to Numba.

    Unless it ``makes_arrays`` (or views of memory), a kernel does not count references either: Numba would do so
    within loops, around every piece that is given an array, and a record copied by one took seven times as long.

    ``name``: for functions that are made several times over with other constants. Each must have a name of its own:
    Numba keeps functions of one name in one index.
    """

    def pending(function: Callable[..., Any]) -> Any:
        if name is not None:
            function.__name__ = function.__qualname__ = name
        wrapped = {"nogil": True, "boundscheck": False, "no_cfunc_wrapper": True}  # C calls no kernel
        dispatcher: Any = nb.njit(**wrapped, _nrt=makes_arrays, **options)(function)
        dispatcher.__class__ = Pending
        dispatcher.declared = signature
        known[name_of(dispatcher)] = dispatcher
        return dispatcher

    return pending


class Pending(CPUDispatcher):  # type: ignore[misc]  # Numba has no types
    """A kernel that nobody has needed so far.

    It is compiled, or taken from the cache, when it is first called, or when a kernel that calls it is compiled. From
    then on it is one of Numba's own dispatchers, so that a call costs no more than any other.
    """

    declared: Any
    """Its one signature."""

    def compile(self, sig: Any = None) -> Any:
        """Compile it for its own signature, whatever a caller has at hand: that is converted, or refused.

        The order of the two locks matters: a thread that waits for another process has the compiler to itself.
        """
        with global_compiler_lock:
            if isinstance(self, Pending):  # no other thread was quicker
                with cache_of(self).alone(), _uncollected():
                    super().compile(self.declared)
                self.disable_compile()
                self.__class__ = CPUDispatcher
        return next(iter(self.overloads.values())).entry_point

    def __call__(self, *args: Any) -> Any:
        compile_now(self)
        return self(*args)


def compile_now(kernel: Any) -> None:
    """Compile a kernel, or load it, if nobody has yet: another thread may be doing so at this very moment."""
    Pending.compile(kernel)


def try_compile(kernel: Any) -> bool:
    """Compile a kernel, unless another process is about to: then it is False at once."""
    with global_compiler_lock, cache_of(kernel).try_alone() as granted:
        if granted:
            compile_now(kernel)
    return granted


def is_stored(kernel: Any) -> bool:
    """Whether a kernel is in the cache, compiled from the sources as they are."""
    with global_compiler_lock:  # Numba looks up what it knows of types, one thread at a time
        return not isinstance(kernel, Pending) or cache_of(kernel).has(kernel.declared, kernel.targetctx)


def cache_of(kernel: Any) -> KernelCache:
    """What is on disk of a kernel."""
    found = vars(kernel)["_cache"]
    if not isinstance(found, KernelCache):
        found = vars(kernel)["_cache"] = KernelCache(kernel.py_func)
    return found


def name_of(kernel: Any) -> str:
    """What it is called in `known`."""
    return f"{kernel.py_func.__module__}.{kernel.py_func.__qualname__}"


def index_of(kernel: Any) -> Path:
    """Where the index of a kernel is in Numba's cache."""
    return cache_of(kernel).index


def called_by(kernel: Any) -> tuple[list[Any], int]:
    """The kernels that a kernel calls, and how long it is, in bytes of Python's code, with the parts that it takes in.

    They are found by their names, so one that stands in a module or a table may be missed: it is compiled with its
    caller then.
    """
    found: list[Any] = []
    size, left, seen = 0, [kernel], {id(kernel)}
    while left:
        function = left.pop().py_func
        for code in _codes(function.__code__):
            size += len(code.co_code)
            cells = [cell.cell_contents for cell in function.__closure__ or () if cell != type(cell)()]
            values = [function.__globals__.get(name) for name in code.co_names]
            for value in (*cells, *values):
                if isinstance(value, CPUDispatcher) and id(value) not in seen:
                    seen.add(id(value))
                    (found if name_of(value) in known else left).append(value)
    return found, size


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a function and of those within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Without Python's collector, which would go through all that a compiler makes: a quarter of its time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


part = nb.njit(inline="always", boundscheck=False)
"""For a piece that several kernels share: it becomes part of each."""
