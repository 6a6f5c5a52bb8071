"""Removal of the direction common to all vectors of a model, so that sign bits carry information.

Many models have such a direction (Ethayarajh, 2019): most components then have the same sign for all texts.
For bits, vectors are therefore projected orthogonally to the mean over a few fixed texts (as Mu and
Viswanath, 2018, remove common directions). Vectors stored with different centres are not comparable, so the
centre is stored, and shared, with the vectors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ctx.models.precision import BIT, Vectors, is_same_answer, truncated

VERSION = "1"
"""Part of the descriptor; change it with the texts."""

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
"""Fixed texts of many languages and kinds; sent once, before any other text is embedded."""


class Reference(NamedTuple):
    """Answer of a model to fixed texts: `probe` (dimensions,) of unit length, and `centre` (dimensions,).

    The centre is zero unless vectors are stored as bits.
    """

    probe: Vectors
    centre: Vectors

    def agrees(self, other: Reference) -> bool:
        """Return True if vectors stored with both references are comparable."""
        centres = [truncated(one.centre[None], len(one.centre))[0] for one in (self, other)]
        without = not self.centre.any() and not other.centre.any()
        return is_same_answer(self.probe, other.probe) and (without or is_same_answer(*centres))


def centred(vectors: Vectors, reference: Reference, precision: str) -> Vectors:
    """Return unit vectors (n, dimensions) as stored and compared; for bits, orthogonal to the centre.

    Only the direction of the centre is used, so a model without a common direction loses little.
    """
    if precision != BIT:
        return vectors
    direction = truncated(reference.centre[None], vectors.shape[1])[0]
    across: Vectors = truncated(vectors - np.outer(vectors @ direction, direction), vectors.shape[1])
    return across
