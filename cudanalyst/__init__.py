"""cudanalyst: honest feedback for agents that write CUDA kernels, and which of it helped."""

from typing import Final

__version__: Final = "0.1.0"
