"""Errors whose text a caller can act on. Everything else that is raised is a bug.

A bad kernel is not an error: it is a status of a result.
"""


class CudanalystError(Exception):
    """Base: the request cannot be served. The text says what is wrong and what to do next."""


class BadRequest(CudanalystError):
    """An argument is malformed or not allowed; the text names it."""


class NotFound(CudanalystError):
    """An unknown problem, candidate, checkpoint, experiment, trial or job; another owner's is reported the same way."""


class BadProblem(CudanalystError):
    """A problem folder is invalid; the text names the file and the key."""


class StoreError(CudanalystError):
    """The store cannot be read or written (full disk, newer schema, corruption)."""


class Unavailable(CudanalystError):
    """Something needed is not on this machine; the text says how to get it."""
