"""What is recorded of each model: where its weights come from, the boundary prompt, the greedy prompts.

A greedy prompt must keep the gap rule (greedy.check_gaps) with the weights as they are and rounded to bfloat16; one
that does not is replaced, and the rule is never loosened.
"""

from dataclasses import dataclass

import models
import source
from greedy import Prompt, chat


@dataclass(frozen=True)
class Fixture:
    name: str
    model: dict  # id, revision and source, as the manifest states them
    boundary_prompt: str
    max_tokens: int
    prompts: list[Prompt]


TINY = Fixture(
    name="tiny-llama",
    model={
        "id": "hearth/tiny-llama",
        "revision": f"seed {models.TINY_SEED}",
        "source": {"directory": "model", "what": "random weights, made by models.py; no trained model"},
    },
    boundary_prompt="The cat and the hat",
    max_tokens=24,
    prompts=[
        Prompt("english", "The cat sat on the mat."),
        Prompt("code", "def add(a, b):\n    return a"),
        Prompt("scripts", "naïve café 日本語"),
        Prompt("special-as-text", "Don't write <|im_end|> here"),
        chat("chat", ("user", "Hi there")),
    ],
)

SMOLLM2 = Fixture(
    name="smollm2-135m",
    model={
        "id": "HuggingFaceTB/SmolLM2-135M-Instruct",
        "revision": f"{source.PACKAGE} {source.PACKAGE_VERSION}",
        "source": {
            "package": f"{source.PACKAGE}=={source.PACKAGE_VERSION}",
            "file": source.FILE_NAME,
            "sha256": source.FILE_SHA256,
            "what": "Q4_1 and Q8_0 tensors dequantized to float32, q and k rows in Hugging Face order",
        },
    },
    boundary_prompt="The quick brown fox jumps over the lazy dog.",
    max_tokens=32,
    prompts=[
        chat("capital", ("user", "What is the capital of France?")),
        chat("haiku", ("system", "You are a poet."), ("user", "Write a haiku about the summer of 1997.")),
        Prompt("code", "def is_even(n):\n    return"),
        Prompt("story", "Once upon a time, in a small village"),
        Prompt("cyrillic", "Столица Франции — город"),
    ],
)

# Of every family. Longer than the sliding windows of the tiny configurations.
FAMILY_PROMPT = "The cat and the hat, then in rain"
FAMILY_MAX_TOKENS = 16
FAMILY_PROMPTS = (
    Prompt("english", "The cat sat on the mat."),
    Prompt("scripts", "naïve café 日本語"),
    chat("chat", ("user", "Hi there")),
    # Past the first tile of 64 positions, and past every window.
    Prompt("long", "One two three four, and then again: " * 3),
)
