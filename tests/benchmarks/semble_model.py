"""Convert the static embedding to a model2vec folder, so that semble can be measured without a download.

VENV-WITH-SEMBLE/bin/python tests/benchmarks/semble_model.py ctx/models/wordtable-2.bin FOLDER
"""

from __future__ import annotations

import struct
import sys

import msgpack
import numpy as np
from model2vec import StaticModel
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

BETWEEN_WORDS = Regex(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""Word boundary as in `SessionDriver` and `HTTPServer`."""


def main(table: str, folder: str) -> int:
    with open(table, "rb") as file:
        data = file.read()
    header = msgpack.unpackb(data[16 : 16 + struct.unpack_from("<I", data, 4)[0]])
    arrays = {
        name: np.frombuffer(data, dtype, int(np.prod(shape)), offset).reshape(shape)
        for name, dtype, shape, offset in header["arrays"]
    }
    words = arrays["words"].tobytes().decode().split("\n")
    vectors = (arrays["vectors"].astype(np.float32) * arrays["scales"][:, None])[: len(words)]
    numbers = {"[UNK]": 0, "[PAD]": 1} | {word: number + 2 for number, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordLevel(numbers, unk_token="[UNK]"))
    # Put a space between the words of an identifier, because the vocabulary has only single words.
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Replace(BETWEEN_WORDS, " "), normalizers.Lowercase()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[^A-Za-z]+"), "removed")
    StaticModel(np.vstack([np.zeros((2, vectors.shape[1]), np.float32), vectors]), tokenizer).save_pretrained(
        folder
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
