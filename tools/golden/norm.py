"""A standalone RMSNorm case: rows of very different size through Transformers' own module."""

import torch
from transformers.models.llama.modeling_llama import LlamaRMSNorm

import forward

SEED = 7
# Root mean square of each row. 1e-6 and 3e-3: the mean square is far below eps, and about equal to it.
# 1e6: the sum of squares nears 1e15, far from overflow but far outside what a model makes.
ROW_SIZES = [1.0, 1.0, 1e-6, 3e-3, 50.0, 1e6]


@torch.no_grad()
def golden_case(weight: torch.Tensor, eps: float) -> dict[str, torch.Tensor]:
    """Input, weight and output [rows, width]; `weight` is the model's final norm."""
    generator = torch.Generator().manual_seed(SEED)
    rows = torch.randn((len(ROW_SIZES), weight.shape[0]), generator=generator) * torch.tensor(ROW_SIZES)[:, None]
    module = LlamaRMSNorm(weight.shape[0], eps=eps)
    module.weight.copy_(weight)
    return {"rms_norm/input": rows, "rms_norm/weight": weight.clone(), "rms_norm/output": module(rows)}


def outputs(case: dict[str, torch.Tensor], eps: float, arithmetic: forward.Float64) -> torch.Tensor:
    """The same rows through the plain formula."""
    return forward.rms_norm(arithmetic, case["rms_norm/input"].double(), case["rms_norm/weight"].double(), eps)
