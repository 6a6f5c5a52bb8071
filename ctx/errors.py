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


class BlobsMissing(CtxError):
    """Words cannot be counted, since files of the tree are not in this clone."""


class UsageError(CtxError):
    """The command line asks for something that cannot be."""

    exit_code = USAGE
