"""Writes goldens.safetensors and manifest.json."""

import hashlib
import json
from pathlib import Path

import torch
from safetensors.torch import save

FORMAT = "hearth-golden"
FORMAT_VERSION = 1
TENSORS_FILE = "goldens.safetensors"
MANIFEST_FILE = "manifest.json"


def write_tensors(directory: Path, tensors: dict[str, torch.Tensor]) -> None:
    if any(tensor.dtype != torch.float32 for tensor in tensors.values()):
        raise ValueError("goldens are float32")
    if not all(torch.isfinite(tensor).all() for tensor in tensors.values()):
        raise ValueError("goldens are finite")
    contiguous = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    (directory / TENSORS_FILE).write_bytes(save(contiguous))


def describe_tensors(tensors: dict[str, torch.Tensor], tolerances: dict[str, dict]) -> dict[str, dict]:
    """Shape, type, checksum of the little-endian bytes, and tolerance of every golden."""
    return {
        name: {**describe_bytes(tensor), "tolerance": tolerances[name]} for name, tensor in tensors.items()
    }


def describe_bytes(tensor: torch.Tensor) -> dict:
    data = tensor.detach().contiguous().numpy().tobytes()
    return {"shape": list(tensor.shape), "dtype": "F32", "sha256": hashlib.sha256(data).hexdigest()}


def describe_files(directory: Path) -> dict[str, dict]:
    """Size and checksum of every file of the fixture, the manifest itself excepted."""
    paths = sorted(path for path in directory.rglob("*") if path.is_file() and path.name != MANIFEST_FILE)
    return {
        path.relative_to(directory).as_posix(): {
            "bytes": path.stat().st_size,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        }
        for path in paths
    }


def write_manifest(directory: Path, content: dict) -> None:
    manifest = {"format": FORMAT, "format_version": FORMAT_VERSION, **content}
    (directory / MANIFEST_FILE).write_text(pretty(manifest) + "\n")


def pretty(value, indent: str = "") -> str:
    """JSON with one line for every object or list that holds nothing nested, so that a diff reads well."""
    nested = (dict, list)
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if not any(isinstance(child, nested) for child in children):
        return json.dumps(value, ensure_ascii=False)
    inner = indent + "  "
    if isinstance(value, dict):
        lines = [f"{inner}{json.dumps(key)}: {pretty(child, inner)}" for key, child in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    return "[\n" + ",\n".join(inner + pretty(child, inner) for child in value) + f"\n{indent}]"
