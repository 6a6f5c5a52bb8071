"""All errors that git-ctx shows, with their exit status.

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
      ExtraMissing                 128
    UsageError                     129   as git's own

The message is the whole text for the user: what was wrong, where, and the command that repairs it.
"""

from __future__ import annotations

import shlex
import struct
import sys
from contextlib import ContextDecorator
from types import TracebackType

NO_HITS = 1
FATAL = 128
USAGE = 129
INTERRUPTED = 130


class Ended(KeyboardInterrupt):
    """Raised by a signal that ends the process, so that it can clean up first."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.exit_code = 128 + number


class CtxError(Exception):
    """An error that the user can act on."""

    exit_code = FATAL


class NotARepository(CtxError):
    """No git repository was found."""


class UnknownRevision(CtxError):
    """The requested revision is no commit and no tree of this repository."""


class NothingCommitted(CtxError):
    """HEAD is an unborn branch, so there is no tree to search."""


class GitFailed(CtxError):
    """git failed; the message is that of git."""


class RemoteFailed(CtxError):
    """A remote could not be read or written; the message includes that of git."""


class ServiceFailed(CtxError):
    """A model service did not answer, or its answer is not valid."""


class StoreUnusable(CtxError):
    """The index directory cannot be read or written."""


class StoreFull(StoreUnusable):
    """No space is left on the device of the index."""


class Damaged(CtxError):
    """Stored bytes are damaged; callers treat them as missing and rebuild them."""


class Decoding(ContextDecorator):
    """Guard for decoders of untrusted bytes: turns the errors of decoding into `Damaged`.

    Use it with `with`, or as a decorator of a whole decoder. `what` begins the message, such as "a cluster".
    `others` are further error types, those of libraries.
    """

    def __init__(self, what: str, *others: type[Exception]) -> None:
        self._what = what
        self._kinds = (*_UNDECODABLE, *others)

    def __enter__(self) -> None:
        """Enter the guarded block."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Raise `Damaged` from an error that bad bytes can cause; pass on all others."""
        if isinstance(error, self._kinds):
            why = " ".join(str(error)[:_LONGEST_REASON].split()) or type(error).__name__
            raise Damaged(f"{self._what} cannot be read: {why}") from error


_UNDECODABLE: tuple[type[Exception], ...] = (
    ValueError,  # UnicodeError, json.JSONDecodeError, binascii.Error and all errors of msgpack.unpackb
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    MemoryError,
    struct.error,
)
_LONGEST_REASON = 200
"""Maximum characters of an error's text in a message, because it may quote the input."""


class BlobsMissing(CtxError):
    """Terms cannot be counted because files of the tree are not in this clone."""


class ExtraMissing(CtxError):
    """Packages of an extra are not installed; the message has the command that installs them here."""

    def __init__(self, what: str, extra: str) -> None:
        python = shlex.quote(sys.executable or "python3")
        super().__init__(
            f"{what} needs the packages of the extra '{extra}': `{python} -m pip install 'git-ctx[{extra}]'`"
        )


class UsageError(CtxError):
    """The command line or configuration is not valid."""

    exit_code = USAGE
