"""Writes block-vectors.json: stored elements and the floats that the `gguf` package decodes them to.

    pip install gguf==0.17.1 numpy
    python make-block-vectors.py

Blocks are chosen by hand at the ends of the scale range, and at random (seed 7) elsewhere. `gguf` gives -0 for a negative
scale times code 0 in formats without a minimum, where Hearth gives +0 (docs/numerics.md, embed); adding +0 maps the one to
the other and changes nothing else.
"""
import json
import pathlib

import gguf
import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType as Type

random = np.random.default_rng(7)
# one, -2, smallest subnormal, largest subnormal, smallest normal, largest, zero, -0, 0.1
SCALES = [0x3C00, 0xC000, 0x0001, 0x03FF, 0x0400, 0x7BFF, 0x0000, 0x8000, 0x2E66]


def blocks(kind):
    size = GGML_QUANT_SIZES[kind][1]
    rows = []
    for i, scale in enumerate(SCALES):
        block = random.integers(0, 256, size, dtype=np.uint8)
        block[0:2] = np.frombuffer(np.uint16(scale).tobytes(), np.uint8)
        if kind == Type.Q4_1:
            block[2:4] = np.frombuffer(np.uint16(SCALES[(i * 4 + 3) % len(SCALES)]).tobytes(), np.uint8)
        rows.append(block)
    return np.stack(rows)


vectors = {"gguf": "0.17.1", "types": {}}
for kind in (Type.Q4_0, Type.Q4_1, Type.Q8_0):
    stored = blocks(kind)
    values = gguf.dequantize(stored, kind).astype("<f4")
    if kind != Type.Q4_1:
        values = values + np.float32(0)
    vectors["types"][kind.name.lower()] = {"stored": stored.tobytes().hex(), "values": values.tobytes().hex()}
for kind in (Type.F16, Type.BF16):
    # Every 97th pattern without NaN (whose payloads are not compared).
    bits = np.arange(0, 65536, 97, dtype=np.uint16)
    stored = bits.view(np.float16) if kind == Type.F16 else bits.view(np.uint8)
    values = gguf.dequantize(stored, kind).astype("<f4").reshape(-1)
    keep = ~np.isnan(values)
    vectors["types"][kind.name.lower()] = {
        "stored": bits[keep].astype("<u2").tobytes().hex(),
        "values": values[keep].tobytes().hex(),
    }

(pathlib.Path(__file__).parent / "block-vectors.json").write_text(json.dumps(vectors, indent=1) + "\n")
