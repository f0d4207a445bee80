"""Embeddings of the tiny models by Transformers: the mean over all positions of the rows after the final norm, of length 1.

Writes packages/golden/fixtures/embeddings.json. Usage:

    .venv/bin/python embeddings.py
"""

import json
import os
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"  # everything comes from the fixtures
# As in make.py: the same bytes on every machine with AVX2 or more.
os.environ["ATEN_CPU_CAPABILITY"] = "avx2"
os.environ["MKL_ENABLE_INSTRUCTIONS"] = "AVX2"

import torch
from transformers import AutoModelForCausalLM

import arithmetic
import tolerance
from recording import made_by
from write import pretty

FIXTURES = Path(__file__).resolve().parents[2] / "packages/golden/fixtures"


def embedding(model, ids: list[int]) -> torch.Tensor:
    decoder = model.transformer if hasattr(model, "transformer") else model.model
    rows = decoder(input_ids=torch.tensor([ids])).last_hidden_state[0]
    mean = rows.double().mean(0)
    return mean / mean.norm()


def record(directory: Path) -> dict:
    """The embedding of the prompt that the other goldens of the model were made with, and how far it may be missed."""
    ids = json.loads((directory / "manifest.json").read_text())["prefill"]["ids"]
    model = AutoModelForCausalLM.from_pretrained(
        directory / "model", dtype=torch.float32, attn_implementation="eager"
    ).eval()
    golden = embedding(model, ids)
    with arithmetic.InFloat64():
        exact = embedding(arithmetic.exact(model), ids)
    with arithmetic.InAscendingChains():
        chain = embedding(arithmetic.ascending(model), ids)
    return {
        "ids": ids,
        "embedding": [float(value) for value in golden],
        "tolerance": tolerance.measured_short(golden, exact, chain),
    }


def main() -> None:
    directories = sorted(path.parent for path in FIXTURES.glob("tiny-*/model"))
    models = {directory.name: record(directory) for directory in directories}
    content = {"made_by": {**made_by(), "script": "tools/golden/embeddings.py"}, "models": models}
    (FIXTURES / "embeddings.json").write_text(pretty(content) + "\n")


if __name__ == "__main__":
    torch.set_num_threads(1)
    with torch.inference_mode():
        main()
