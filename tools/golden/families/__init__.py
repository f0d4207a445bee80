"""Every family beyond the two Llamas of `fixtures.py`."""

from families.gemma2 import GEMMA2
from families.gemma3 import GEMMA3
from families.gpt2 import GPT2
from families.llama_rope import LLAMA_ROPE
from families.mistral import MISTRAL
from families.phi3 import PHI3
from families.qwen2 import QWEN2
from families.qwen3 import QWEN3
from families.qwen3_moe import QWEN3_MOE, QWEN3_MOE_MIXED

FAMILIES = [LLAMA_ROPE, MISTRAL, QWEN2, QWEN3, GPT2, GEMMA2, GEMMA3, PHI3, QWEN3_MOE, QWEN3_MOE_MIXED]
