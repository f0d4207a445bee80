"""What both kinds of fixtures share: golden tensors with their tolerances, and the note of what made them."""

import importlib.metadata
import sys
from dataclasses import dataclass, field

import torch

PACKAGES = ["torch", "transformers", "tokenizers", "safetensors", "gguf", "numpy"]


@dataclass
class Recording:
    """Golden tensors by key, each with its tolerance."""

    tensors: dict[str, torch.Tensor] = field(default_factory=dict)
    tolerances: dict[str, dict] = field(default_factory=dict)

    def add(self, name: str, tensor: torch.Tensor, tolerance: dict) -> None:
        self.tensors[name] = tensor
        self.tolerances[name] = tolerance


def named(prefix: str, tensors: dict) -> dict:
    return {f"{prefix}/{name}": tensor for name, tensor in tensors.items()}


def made_by() -> dict:
    return {
        "script": "tools/golden/make.py",
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "packages": {name: importlib.metadata.version(name).partition("+")[0] for name in PACKAGES},
        "arithmetic": "float32 on the CPU, one thread, eager attention, KV cache in float32",
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
    }
