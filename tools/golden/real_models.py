"""The models that can be pulled by name, loaded by Transformers from their GGUF files and checked tensor by tensor.

Each file is one that `hearth pull` fetches (packages/hub/src/catalogue.ts); the checksum says that it is the right one.
"""

import hashlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from gguf import GGUFReader, dequantize
from tokenizers import AddedToken, Tokenizer, decoders, normalizers
from tokenizers import models as tokenizer_models
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast

import tokenization

# GGUF's names inside a layer, as Hugging Face calls them; `blk.N.` and `model.layers.N.` go before.
LLAMA_LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
GEMMA3_LAYER = LLAMA_LAYER | {
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "post_attention_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
}
OUTSIDE = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}


@dataclass(frozen=True)
class RealModel:
    """A file, and what its configuration must be once Transformers has read it."""

    name: str  # in the catalogue
    id: str
    sha256: str
    layer_names: dict[str, str]
    config: dict
    swaps_rope_rows: bool = False  # q and k rows lie in GGUF's order of rotated pairs
    norm_plus_one: bool = False  # the file holds norm weights with the 1 that the model adds


SMOLLM2 = RealModel(
    name="smollm2:135m",
    id="HuggingFaceTB/SmolLM2-135M-Instruct",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    layer_names=LLAMA_LAYER,
    config={
        "model_type": "llama", "hidden_size": 576, "num_hidden_layers": 30, "num_attention_heads": 9,
        "num_key_value_heads": 3, "rope_theta": 100000.0, "tie_word_embeddings": True, "vocab_size": 49152,
    },
    swaps_rope_rows=True,
)  # fmt: skip

QWEN25_CODER_05B = RealModel(
    name="qwen2.5-coder:0.5b",
    id="Qwen/Qwen2.5-Coder-0.5B-Instruct",
    sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    layer_names=LLAMA_LAYER,
    config={
        "model_type": "qwen2", "hidden_size": 896, "num_hidden_layers": 24, "num_attention_heads": 14,
        "num_key_value_heads": 2, "rope_theta": 1000000.0, "tie_word_embeddings": False, "vocab_size": 151936,
        "use_sliding_window": False,
    },
)  # fmt: skip

QWEN25_CODER_15B = RealModel(
    name="qwen2.5-coder:1.5b",
    id="Qwen/Qwen2.5-Coder-1.5B-Instruct",
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    layer_names=LLAMA_LAYER,
    config={
        "model_type": "qwen2", "hidden_size": 1536, "num_hidden_layers": 28, "num_attention_heads": 12,
        "num_key_value_heads": 2, "rope_theta": 1000000.0, "tie_word_embeddings": False, "vocab_size": 151936,
        "use_sliding_window": False,
    },
)  # fmt: skip

GEMMA3_270M = RealModel(
    name="gemma3:270m",
    id="google/gemma-3-270m",
    sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    layer_names=GEMMA3_LAYER,
    config={
        # rope_local_base_freq, query_pre_attn_scalar and the pattern of layers are not in the file; these are the family's.
        "model_type": "gemma3_text", "hidden_size": 640, "num_hidden_layers": 18, "num_attention_heads": 4,
        "num_key_value_heads": 1, "head_dim": 256, "rope_theta": 1000000.0, "rope_local_base_freq": 10000.0,
        "query_pre_attn_scalar": 256, "sliding_window": 512, "tie_word_embeddings": True, "vocab_size": 262144,
        "layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 3, "final_logit_softcapping": None,
    },
    norm_plus_one=True,
)  # fmt: skip


def verified(path: Path, real: RealModel) -> Path:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != real.sha256:
        raise ValueError(f"{path}: expected SHA-256 {real.sha256} of {real.name}, found {digest}.")
    return path


def tensor_types(path: Path) -> dict[str, int]:
    """How many tensors of the file have which type."""
    return dict(sorted(Counter(tensor.tensor_type.name for tensor in GGUFReader(path).tensors).items()))


def load(path: Path, real: RealModel):
    """The model in float32, its configuration and every tensor checked."""
    model = AutoModelForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    for key, expected in real.config.items():
        found = getattr(model.config, key)
        if found != expected:
            raise ValueError(f"{real.name}: config {key}: expected {expected}, found {found}")
    check_tensors(model, path, real)
    return model


def check_tensors(model, path: Path, real: RealModel) -> None:
    """Every parameter equals the gguf package's dequantized tensor to the bit, and none is left over on either side."""
    seen = set()
    for tensor in GGUFReader(path).tensors:
        name = hugging_face_name(tensor.name, real)
        expected = dequantize(tensor.data, tensor.tensor_type)
        if real.swaps_rope_rows and name.endswith(("q_proj.weight", "k_proj.weight")):
            expected = rows_by_halves(expected, model.config.head_dim)
        if real.norm_plus_one and name.endswith("norm.weight"):
            expected = expected - np.float32(1)
        if not np.array_equal(model.get_parameter(name).detach().numpy(), expected):
            raise ValueError(f"{name}: differs from {tensor.name} as the gguf package dequantizes it")
        seen.add(name)
    missing = {name for name, _ in model.named_parameters()} - seen
    if missing:
        raise ValueError(f"not in the GGUF file: {sorted(missing)}")


def hugging_face_name(name: str, real: RealModel) -> str:
    stem, _, kind = name.rpartition(".")
    if not stem.startswith("blk."):
        return f"{OUTSIDE[stem]}.{kind}"
    _, layer, inner = stem.split(".")
    return f"model.layers.{layer}.{real.layer_names[inner]}.{kind}"


def rows_by_halves(weight: np.ndarray, head_dim: int) -> np.ndarray:
    """GGUF keeps rotated rows of a head side by side (2i, 2i + 1), Hugging Face in halves (i, i + head_dim/2)."""
    order = [2 * i + side for side in range(2) for i in range(head_dim // 2)]
    return weight.reshape(-1, head_dim, weight.shape[-1])[:, order].reshape(weight.shape)


def load_tokenizer(path: Path, real: RealModel):
    """The tokenizer of the file. Transformers' own conversion is taken only where its ids are those of the original."""
    if real is SMOLLM2:
        return tokenization.smollm2_tokenizer(path)
    if real is GEMMA3_270M:
        return gemma_tokenizer(path)
    return AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)


def gemma_tokenizer(path: Path) -> PreTrainedTokenizerFast:
    """SentencePiece BPE as merges: the pair that makes the piece of the highest score is joined first.

    A pair's rank is the place of the piece that it makes; of several pairs for one piece the order does not matter,
    since all give that piece. Runs of line ends, tabs and blanks, and HTML tags, are matched before anything else.
    """
    fields = GGUFReader(path).fields
    tokens = fields["tokenizer.ggml.tokens"].contents()
    types = fields["tokenizer.ggml.token_type"].contents()
    scores = fields["tokenizer.ggml.scores"].contents()
    normal, control, user_defined = 1, 3, 4
    vocabulary = {token: number for number, token in enumerate(tokens)}
    pairs = [
        (-scores[number], (piece[:cut], piece[cut:]))
        for number, piece in enumerate(tokens)
        if types[number] == normal
        for cut in range(1, len(piece))
        if piece[:cut] in vocabulary and piece[cut:] in vocabulary
    ]
    merges = [pair for _, pair in sorted(pairs)]
    tokenizer = Tokenizer(
        tokenizer_models.BPE(vocab=vocabulary, merges=merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    )
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    of_type = lambda kind: [token for token, other in zip(tokens, types, strict=True) if other == kind]  # noqa: E731
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in of_type(control)])
    tokenizer.add_tokens([AddedToken(token, special=False, normalized=False) for token in of_type(user_defined)])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<bos>", eos_token="<eos>", unk_token="<unk>", pad_token="<pad>"
    )
