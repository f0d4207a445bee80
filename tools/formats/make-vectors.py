"""Makes the vectors of the weight formats. See README.md for the command."""

import base64
import json
from pathlib import Path

import gguf
import numpy as np
import torch
from gguf.constants import GGML_QUANT_SIZES
from gguf.constants import GGMLQuantizationType as Type

OUT = Path(__file__).resolve().parents[2] / "packages/core/src/tensor/__fixtures__"

# f16: 1, -2, smallest and largest subnormal, smallest normal, largest, 0, -0, 0.1, -0.003
HALVES = np.array([0x3C00, 0xC000, 0x0001, 0x03FF, 0x0400, 0x7BFF, 0x0000, 0x8000, 0x2E66, 0x9A25], np.uint16)

# Where the f16 scale of a block lies, and its f16 minimum or scale of minimums, in bytes.
HALF_PLACES = {
    Type.Q8_0: [0],
    Type.Q4_0: [0],
    Type.Q4_1: [0, 2],
    Type.Q5_0: [0],
    Type.Q5_1: [0, 2],
    Type.IQ4_NL: [0],
    Type.Q2_K: [80, 82],
    Type.Q3_K: [108],
    Type.Q4_K: [0, 2],
    Type.Q5_K: [0, 2],
    Type.Q6_K: [208],
    Type.IQ4_XS: [0],
}


def adversarial_blocks(kind, random):
    """Random codes and sub-scales under each scale of HALVES, then blocks of equal bytes: every field at its ends."""
    size = GGML_QUANT_SIZES[kind][1]
    blocks = [random.integers(0, 256, size, dtype=np.uint8) for _ in HALVES]
    blocks += [np.full(size, byte, np.uint8) for byte in (0x00, 0x7F, 0x80, 0xFF)]
    for i, block in enumerate(blocks):
        for field, place in enumerate(HALF_PLACES[kind]):
            # A factor prime to the length gives the minimum another order of the same numbers.
            half = HALVES[(i * (1 + 6 * field) + 3 * field) % len(HALVES)]
            block[place : place + 2] = np.frombuffer(half.tobytes(), np.uint8)
    return np.stack(blocks)


def quantized_blocks(kind, random):
    """What the package's own quantizer writes, where it has one."""
    try:
        row = gguf.quantize(random.normal(size=256).astype(np.float32), kind)
        return row.reshape(-1, GGML_QUANT_SIZES[kind][1])
    except NotImplementedError:
        return np.zeros((0, GGML_QUANT_SIZES[kind][1]), np.uint8)


def write(name, source, stored, values):
    text = lambda array: base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    vectors = {"source": source, "stored": text(stored), "values": text(values.astype("<f4"))}
    (OUT / f"{name}.json").write_text(json.dumps(vectors, indent=1) + "\n")


def main():
    OUT.mkdir(exist_ok=True)
    for kind, places in HALF_PLACES.items():
        random = np.random.default_rng(int(kind))
        stored = np.concatenate([adversarial_blocks(kind, random), quantized_blocks(kind, random)])
        values = gguf.dequantize(stored, kind)
        # Without a minimum, a negative scale times code 0 is -0 here and +0 in Hearth (docs/numerics.md, embed). Adding +0
        # maps the one to the other and changes nothing else.
        if len(places) == 1:
            values = values + np.float32(0)
        write(kind.name.lower(), "gguf 0.17.1", stored, values)

    for kind in (Type.F16, Type.BF16):
        # Every 97th pattern without NaN, whose payloads are not compared.
        bits = np.arange(0, 65536, 97, dtype=np.uint16)
        values = gguf.dequantize(bits.view(np.float16) if kind == Type.F16 else bits.view(np.uint8), kind).reshape(-1)
        keep = ~np.isnan(values)
        write(kind.name.lower(), "gguf 0.17.1", bits[keep], values[keep])

    # Every code in blocks of 32 with an f32 scale of its own: 1 first, then scales that round. NaN becomes code 0.
    codes = np.arange(256, dtype=np.uint8).reshape(8, 32)
    codes = np.concatenate([np.where(codes & 0x7F == 0x7F, 0, codes)] * 2).astype(np.uint8)
    scales = np.array([1] * 8 + [0.1, -0.3, 2.0**-140, 3.4e35, 1 / 448, 0.0, 1e-38, 7 / 3], np.float32)
    values = torch.from_numpy(codes).view(torch.float8_e4m3fn).float() * torch.from_numpy(scales)[:, None]
    stored = np.concatenate([scales.view(np.uint8).reshape(-1, 4), codes], axis=1)
    write("f8_e4m3", "torch 2.9.1", stored, values.numpy())


main()
