"""Makes the quantized matrices that @hearth/checkpoint reads in its tests. See README.md for the command.

Each file holds the members of one matrix `m`, packed here code by code, and `expected`: its values as float32.
"""

import json
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

OUT = Path(__file__).resolve().parents[2] / "packages/checkpoint/src/prequantized/__fixtures__"


def nibbles(codes):
    """[..., 8] codes, the first in the lowest bits, as int32."""
    words = (codes.astype(np.uint32) << (4 * np.arange(8, dtype=np.uint32))).sum(-1, dtype=np.uint32)
    return torch.from_numpy(words.view(np.int32))


def save(name, config, members, expected):
    tensors = {f"m.{member}": tensor.contiguous() for member, tensor in members.items()}
    tensors["expected"] = expected.contiguous()
    save_file(tensors, OUT / f"{name}.safetensors", metadata={"quantization_config": json.dumps(config)})


def random_matrix(random, rows, columns, groups):
    codes = random.integers(0, 16, (columns, rows), dtype=np.uint8)
    zeros = random.integers(0, 16, (groups, rows), dtype=np.uint8)
    scales = random.normal(0, 0.02, (groups, rows)).astype(np.float16)
    return codes, zeros, scales


def dequantized(codes, zeros, scales, group_of):
    """As the kernels' definition has it: scale * (code - zero), [rows, columns]."""
    values = scales[group_of].astype(np.float32) * (codes.astype(np.float32) - zeros[group_of].astype(np.float32))
    return torch.from_numpy(np.ascontiguousarray(values.T))


def awq(rows=16, columns=128, group_size=64):
    random = np.random.default_rng(1)
    codes, zeros, scales = random_matrix(random, rows, columns, columns // group_size)
    # AutoAWQ's GEMM kernel wants the eight outputs of a word in this order.
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    members = {
        "qweight": nibbles(codes.reshape(columns, rows // 8, 8)[..., order]),
        "qzeros": nibbles(zeros.reshape(-1, rows // 8, 8)[..., order]),
        "scales": torch.from_numpy(scales),
    }
    config = {"quant_method": "awq", "version": "gemm", "bits": 4, "group_size": group_size, "zero_point": True}
    save("python-awq", config, members, dequantized(codes, zeros, scales, np.arange(columns) // group_size))


def gptq(name, act_order, rows=16, columns=128, group_size=32):
    random = np.random.default_rng(2 + act_order)
    codes, zeros, scales = random_matrix(random, rows, columns, columns // group_size)
    group_of = np.arange(columns) // group_size
    if act_order:
        group_of = random.permutation(group_of)
    members = {
        "qweight": nibbles(codes.reshape(columns // 8, 8, rows).transpose(0, 2, 1)),
        # Version 1 stores zero points less 1 in 4 bits.
        "qzeros": nibbles(((zeros - 1) & 15).reshape(-1, rows // 8, 8)),
        "scales": torch.from_numpy(scales),
        "g_idx": torch.from_numpy(group_of.astype(np.int32)),
    }
    config = {"quant_method": "gptq", "bits": 4, "group_size": group_size, "desc_act": act_order, "sym": False}
    save(name, config, members, dequantized(codes, zeros, scales, group_of))


def fp8(rows=24, columns=96, block=(16, 32)):
    """Blocks smaller than the usual 128 x 128, so that the file is small; the last rows are a part of one."""
    plain = torch.randn(rows, columns, generator=torch.Generator().manual_seed(4))
    codes = torch.zeros(rows, columns, dtype=torch.float8_e4m3fn)
    scales = torch.zeros(-(-rows // block[0]), -(-columns // block[1]))
    expected = torch.zeros(rows, columns)
    for i in range(scales.shape[0]):
        for j in range(scales.shape[1]):
            part = slice(i * block[0], (i + 1) * block[0]), slice(j * block[1], (j + 1) * block[1])
            scales[i, j] = plain[part].abs().max() / 448
            codes[part] = (plain[part] / scales[i, j]).to(torch.float8_e4m3fn)
            expected[part] = codes[part].float() * scales[i, j]
    config = {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": list(block)}
    save("python-fp8", config, {"weight": codes, "weight_scale_inv": scales}, expected)


awq()
gptq("python-gptq", act_order=False)
gptq("python-gptq-act-order", act_order=True)
fp8()
