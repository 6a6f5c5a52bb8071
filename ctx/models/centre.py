"""The direction that all vectors of a model share, which has to go so that a sign bit says something.

In many models there is one (Ethayarajh, 2019): most components then have one sign for all texts, and bits
keep next to nothing. What is stored as bits is therefore the part of a vector that is across to the mean over
a few fixed texts (as Mu and Viswanath, 2018, take common directions out). Vectors that were stored with
different centres do not compare, so the centre is kept, and travels, with the vectors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.models.precision import BIT, is_same_answer, truncated

Floats = npt.NDArray[np.float32]

VERSION = "1"
"""A part of the descriptor; another one for other texts."""

TEXTS = (
    "def total(prices):\n    return sum(price.amount for price in prices if not price.void)",
    "func (s *Server) Close(ctx context.Context) error {\n\ts.closing.Store(true)\n\treturn nil\n}",
    "impl Iterator for Lines {\n    type Item = String;\n}",
    "public class UserService {\n    User find(long id) { return users.get(id); }\n}",
    "export function debounce(fn, wait) {\n  let timer;\n  return () => clearTimeout(timer);\n}",
    "SELECT customer_id, SUM(amount) FROM orders WHERE paid GROUP BY customer_id;",
    "static int read_block(struct file *f, char *buf, size_t n)\n{\n\treturn f ? 0 : -EINVAL;\n}",
    "template <typename T>\nvoid Queue<T>::push(T value) {\n  std::lock_guard lock(mutex_);\n}",
    "class Invoice < ApplicationRecord\n  belongs_to :customer\nend",
    "<?php\nfunction render(string $view, array $data): string {\n    extract($data);\n}",
    "fun parse(line: String): Token? = line.trim().takeIf { it.isNotEmpty() }?.let(::Token)",
    "## Installation\n\nDownload the latest release, unpack it and add the directory to your PATH.",
    "services:\n  web:\n    image: nginx\n    ports:\n      - '8080:80'",
    "import os\nimport sys\nfrom pathlib import Path\nfrom typing import Any",
    "it('shows an error when the password is wrong', () => {\n  expect(login()).toBe(false);\n});",
    '<form method="post">\n  <input name="email" type="email">\n  <button>Send</button>\n</form>',
)
"""Of many languages and kinds; they are sent once, before anything else is embedded."""


class Reference(NamedTuple):
    """What a model said to fixed texts: `probe` (dimensions,) of unit length, and the `centre` (dimensions,).

    The centre is zero where no bits are stored.
    """

    probe: Floats
    centre: Floats

    def agrees(self, other: Reference) -> bool:
        """Whether vectors that were stored with the one compare with those stored with the other."""
        centres = [truncated(one.centre[None], len(one.centre))[0] for one in (self, other)]
        without = not self.centre.any() and not other.centre.any()
        return is_same_answer(self.probe, other.probe) and (without or is_same_answer(*centres))


def centred(vectors: Floats, reference: Reference, precision: str) -> Floats:
    """Unit vectors (n, dimensions) as they are stored and compared: for bits what is across to the centre.

    Only its direction counts, so that a model without a common one loses next to nothing.
    """
    if precision != BIT:
        return vectors
    direction = truncated(reference.centre[None], vectors.shape[1])[0]
    across: Floats = truncated(vectors - np.outer(vectors @ direction, direction), vectors.shape[1])
    return across
