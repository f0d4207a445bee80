"""Writes python-written.safetensors with the `safetensors` package.

    pip install safetensors==0.8.0 torch==2.9.1
    python make-python-written.py
"""
import pathlib

import torch
from safetensors.torch import save_file

counting = torch.arange(12, dtype=torch.float32).reshape(3, 4)
tensors = {
    "f32": counting,
    "f16": counting.to(torch.float16) / 4,
    "bf16": counting.to(torch.bfloat16) / 4,
    "i64": torch.tensor([1, -1]),
    "bool": torch.tensor([True]),
    "scalar": torch.tensor(2.5),
    "empty": torch.zeros(0, 4),
    "né 雪": torch.tensor([7.0]),
}
save_file(tensors, pathlib.Path(__file__).parent / "python-written.safetensors", metadata={"format": "pt", "note": "é"})
