"""The same Transformers model in two other arithmetics, for any family: float64, and float32 with ascending chains.

Neither is a golden. `exact` says what the formula's value is, `ascending` how far a program that sums one chain in
ascending k drifts from it: the two distances that tolerances are made from. Both take cos and sin in float64 of the
float32 angles, since the angle is part of the formula.
"""

import copy

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

import rope
from forward import AscendingFloat32

CHAIN = AscendingFloat32()


class InFloat64(TorchFunctionMode):
    """Norms, softmax and router ask for float32 by name; in a float64 model they get float64."""

    def __torch_function__(self, function, types, arguments=(), keywords=None):
        if function is torch.Tensor.float:
            function = torch.Tensor.double
        widened = [wide(value) for value in arguments]
        return function(*widened, **{name: wide(value) for name, value in (keywords or {}).items()})


def wide(value):
    return torch.float64 if value is torch.float32 else value


class InAscendingChains(TorchFunctionMode):
    """Every product of matrices as one float32 fused multiply-add chain per output; a bias is added after it.

    Sums within a row (norms, softmax) stay as they are: with eight lanes they drift less than one chain.
    """

    def __torch_function__(self, function, types, arguments=(), keywords=None):
        if function is nn.functional.linear:
            return linear(*arguments, **(keywords or {}))
        if function is torch.addmm:
            bias, x, weight = arguments
            return product(x, weight) + bias
        if function in (torch.matmul, torch.Tensor.matmul, torch.Tensor.__matmul__):
            return product(*arguments)
        return function(*arguments, **(keywords or {}))


def linear(x, weight, bias=None):
    chained = product(x, weight.transpose(-1, -2))
    return chained if bias is None else chained + bias


def product(x, y):
    """x [..., rows, k] times y [..., k, columns] in float32."""
    return CHAIN.linear(x.double(), y.double().transpose(-1, -2)).float()


class ExactRotary(nn.Module):
    """cos and sin in float64 of float32 angles, in place of Transformers' module; the frequencies are its own."""

    def __init__(self, rotary):
        super().__init__()
        self.inv_freq = rotary.inv_freq.clone()  # no buffer: it stays float32 in a float64 model
        self.scaling = rotary.attention_scaling

    def forward(self, x, position_ids):
        tables = rope.exact_tables(self.inv_freq, position_ids[0])
        cos, sin = (torch.cat([table, table], -1)[None] * self.scaling for table in tables)
        return cos.to(x.dtype), sin.to(x.dtype)


def exact(model):
    """A float64 copy; run it inside `InFloat64()`."""
    return with_exact_rotary(model).double()


def ascending(model):
    """A float32 copy; run it inside `InAscendingChains()`."""
    return with_exact_rotary(model)


def with_exact_rotary(model):
    copied = copy.deepcopy(model)
    for name, module in rope.rotary_modules(copied).items():
        copied.set_submodule(name, ExactRotary(module))
    return copied
