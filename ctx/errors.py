"""Every error that git-ctx shows, and the exit status that goes with it.

    CtxError                       128   fatal, as git's own
      NotARepository               128
      UnknownRevision              128
      NothingCommitted             128
      GitFailed                    128
      RemoteFailed                 128
      ServiceFailed                128
      StoreUnusable                128
        StoreFull                  128
      Damaged                      128
      BlobsMissing                 128
    UsageError                     129   as git's own

The message is the whole text for the user: what was wrong, where, and what mends it.
"""

from __future__ import annotations

import struct
from contextlib import ContextDecorator
from types import TracebackType

NO_HITS = 1
FATAL = 128
USAGE = 129
INTERRUPTED = 130


class Ended(KeyboardInterrupt):
    """A signal that asks the process to end, so that it can put things in order first."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.exit_code = 128 + number


class CtxError(Exception):
    """Something that the user has to know and can act on."""

    exit_code = FATAL


class NotARepository(CtxError):
    """There is no git repository where one was looked for."""


class UnknownRevision(CtxError):
    """What was asked for names no commit and no tree of this repository."""


class NothingCommitted(CtxError):
    """HEAD points at a branch without a commit, so there is no tree to answer from."""


class GitFailed(CtxError):
    """git itself refused; the message is what it said."""


class RemoteFailed(CtxError):
    """A remote could not be read or written; the message has git's words."""


class ServiceFailed(CtxError):
    """A model on another machine did not answer, or not with what was asked for."""


class StoreUnusable(CtxError):
    """The index directory cannot be written or read."""


class StoreFull(StoreUnusable):
    """There is no room left where the index lies."""


class Damaged(CtxError):
    """Stored bytes are not what was written; the callers treat it as a miss and rebuild."""


class Decoding(ContextDecorator):
    """The guard around everything that decodes foreign bytes: raise `Damaged` for what Python raises there.

    Use it with `with`, or as a decorator of a whole decoder. `what` begins the message, such as "a cluster".
    `others` are errors of a library that are none of Python's own.
    """

    def __init__(self, what: str, *others: type[Exception]) -> None:
        self._what = what
        self._kinds = (*_UNDECODABLE, *others)

    def __enter__(self) -> None:
        """Enter the guarded block."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Raise `Damaged` from an error that bad bytes can cause; let all others through."""
        if isinstance(error, self._kinds):
            why = " ".join(str(error)[:_LONGEST_REASON].split()) or type(error).__name__
            raise Damaged(f"{self._what} cannot be read: {why}") from error


_UNDECODABLE: tuple[type[Exception], ...] = (
    ValueError,  # UnicodeError, json.JSONDecodeError, binascii.Error and all that msgpack.unpackb raises
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    MemoryError,
    struct.error,
)
_LONGEST_REASON = 200
"""Characters of an error's text that are shown: it may quote what was read."""


class BlobsMissing(CtxError):
    """Words cannot be counted, since files of the tree are not in this clone."""


class UsageError(CtxError):
    """The command line asks for something that cannot be."""

    exit_code = USAGE
