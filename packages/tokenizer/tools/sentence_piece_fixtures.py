"""SentencePiece models of the families, each as the metadata of a GGUF file and as the tokenizer.json that is made of it."""
import io
import json

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
DECODER = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
PREPEND = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
RUNS = [letter * count for letter in "\n▁" for count in range(31, 1, -1)]

# Trained with; then what tokenizer.json holds beside vocabulary and merges; then what GGUF metadata hold.
FAMILIES = {
    "llama-spm": {"normalizer": PREPEND, "control": ["<|im_start|>", "<|im_end|>"]},
    "mistral-spm": {
        "pre_tokenizer": pre_tokenizers.Metaspace("▁", prepend_scheme="first", split=False),
        "control": ["[INST]", "[/INST]", "[TOOL_CALLS]", "[AVAILABLE_TOOLS]"],
    },
    "gemma-spm": {
        "normalizer": normalizers.Replace(" ", "▁"), "pre_tokenizer": pre_tokenizers.Split(" ", "merged_with_previous"),
        "control": ["<start_of_turn>", "<end_of_turn>"], "user_defined": [*RUNS, "\n", "<table>", "<h1>"], "prefix": False,
    },
    "phi3-spm": {
        "normalizer": PREPEND, "architecture": "phi3", "add_bos": False,
        "control": ["<|endoftext|>", "<|assistant|>", "<|system|>", "<|end|>", "<|user|>"], "keeps": ["<unk>", "<s>", "<|endoftext|>"],
    },
}


def train(corpus, control, user_defined, **options):
    model = io.BytesIO()
    lines = (line for text in corpus for line in text.split("\n"))
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=lines, model_writer=model, model_type="bpe", byte_fallback=True, character_coverage=0.98,
        normalization_rule_name="identity", split_digits=True, allow_whitespace_only_pieces=True, minloglevel=2, num_threads=1,
        control_symbols=control, user_defined_symbols=user_defined, vocab_size=460 + len(control) + len(user_defined),
        **{"remove_extra_whitespaces": False, **options},
    )
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(model.getvalue())
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue()), list(proto.pieces)


# Every cut of a piece into two pieces is a merge: runs of blanks and line feeds first and the longest first, as in Gemma's
# file, then by the score of the whole.
def merges_of(pieces):
    ids = {piece.piece: id for id, piece in enumerate(pieces) if piece.type == NORMAL or piece.piece in [*RUNS, "\n"]}
    merges = []
    for whole, id in ids.items():
        rank = -1000 - len(whole) if whole in RUNS else -pieces[id].score
        for cut in range(1, len(whole)):
            left, right = whole[:cut], whole[cut:]
            if left in ids and right in ids:
                merges.append((rank, id, ids[left], ids[right], (left, right)))
    return [pair for *_, pair in sorted(merges)]


def tokenizer_of(pieces, family):
    prefix = family.get("prefix", True)
    vocabulary = {piece.piece: id for id, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.BPE(vocabulary, merges_of(pieces), unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    if "normalizer" in family:
        tokenizer.normalizer = family["normalizer"]
    if "pre_tokenizer" in family:
        tokenizer.pre_tokenizer = family["pre_tokenizer"]
    tokenizer.decoder = decoders.Sequence([*DECODER, decoders.Strip(" ", 1, 0)] if prefix else DECODER)
    for piece in pieces:
        if piece.type in (UNKNOWN, CONTROL, USER_DEFINED):
            keeps = family.get("keeps")
            token = AddedToken(piece.piece, normalized=False, rstrip=keeps is not None and piece.piece not in keeps)
            (tokenizer.add_tokens if piece.type == USER_DEFINED else tokenizer.add_special_tokens)([token])
    if family.get("add_bos", True):
        tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", vocabulary["<s>"])])
    return tokenizer


def metadata_of(sp, pieces, family):
    # Converters write user-defined pieces with blanks, not with the letter that stands for them, and fill up with padding.
    padding = range(len(pieces), len(pieces) + 3)
    return {
        "general.architecture": family.get("architecture", "llama"), "tokenizer.ggml.model": "llama", "tokenizer.ggml.pre": "default",
        "tokenizer.ggml.tokens": [p.piece.replace("▁", " ") if p.type == USER_DEFINED else p.piece for p in pieces] + [f"[PAD{id}]" for id in padding],
        "tokenizer.ggml.scores": [round(p.score, 6) for p in pieces] + [-1000.0 for _ in padding],
        "tokenizer.ggml.token_type": [p.type for p in pieces] + [UNUSED for _ in padding],
        "tokenizer.ggml.bos_token_id": sp.bos_id(), "tokenizer.ggml.eos_token_id": sp.eos_id(), "tokenizer.ggml.unknown_token_id": sp.unk_id(),
        "tokenizer.ggml.add_bos_token": family.get("add_bos", True), "tokenizer.ggml.add_space_prefix": family.get("prefix", True),
    }


def make(family, corpus):
    """A tokenizer of the reference library, and the same as GGUF metadata."""
    sp, pieces = train(corpus, family["control"], family.get("user_defined", []), add_dummy_prefix=family.get("prefix", True))
    return Tokenizer.from_str(tokenizer_of(pieces, family).to_str()), metadata_of(sp, pieces, family)
