"""The array module that a computation uses: NumPy, or CuPy where the arrays lie on a GPU. One code serves both.

CuPy is optional and is imported only by name, here; whoever has one of its arrays finds the module through the array.
"""

import importlib
import sys
from typing import Any, Literal

import numpy as np

from cudanalyst.errors import Unavailable
from cudanalyst.kernels.dtypes import Array

ArrayModule = Any
"""NumPy, or a module with its interface."""
ArraysName = Literal["numpy", "cupy"]


def load_arrays(name: ArraysName) -> ArrayModule:
    """Imports an array module.

    Raises:
        Unavailable: It is not installed, or it does not load; the text says what to do.
    """
    if name == "numpy":
        return np
    try:
        return importlib.import_module(name)
    except Exception as error:
        message = (
            f"{name} cannot be imported ({type(error).__name__}: {error}); "
            "install it with `pip install 'cudanalyst[gpu]'`"
        )
        raise Unavailable(message) from error


def module_of(array: object) -> ArrayModule:
    """The module that an array belongs to."""
    return np if isinstance(array, np.ndarray | np.generic) else sys.modules[type(array).__module__.partition(".")[0]]


def to_host(array: Any) -> Array:
    """The same array in the memory of the host."""
    return np.asarray(array if isinstance(array, np.ndarray | np.generic) else array.get())
