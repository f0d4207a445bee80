"""The tokenizers of the two models: byte-level BPE, built with the `tokenizers` library.

The tiny one is made here from a hand-written list of merges. SmolLM2's is rebuilt from the GGUF metadata, with the
pre-tokenizer that the name "smollm" stands for: every digit by itself, then GPT-2's pattern. (Transformers' own
conversion of this file leaves the digits together and would give other ids for numbers.)
"""

from gguf import GGUFReader
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

CHATML_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

# Ids 0, 1, 2 as in SmolLM2.
TINY_SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]

# In order of rank. English pairs, a word built in two steps, runs of blanks for code, and two halves of UTF-8
# characters ("Ã©" is é, "Ġð" starts an emoji), so that a token may end in the middle of a character.
TINY_MERGES = [
    ("Ġ", "t"), ("h", "e"), ("Ġ", "a"), ("i", "n"), ("Ġt", "he"), ("r", "e"), ("o", "n"), ("Ġ", "s"), ("a", "n"),
    ("e", "r"), ("Ġ", "Ġ"), ("a", "t"), ("e", "n"), ("ĠĠ", "ĠĠ"), ("in", "g"), ("Ġ", "c"), ("o", "r"), ("an", "d"),
    ("Ã", "©"), ("Ġ", "ð"), ("l", "l"), ("o", "u"), ("Ġ", "and"), ("u", "s"), ("Ġ", "w"), ("e", "d"), ("Ġ", "in"),
    ("er", "s"), ("us", "er"),
]  # fmt: skip


def tiny_tokenizer() -> PreTrainedTokenizerFast:
    """288 tokens: 3 special ones, 256 bytes (ordered by their printable stand-ins), 29 merges."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = TINY_SPECIALS + alphabet + [left + right for left, right in TINY_MERGES]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    if len(vocabulary) != len(tokens):
        raise ValueError("two merges make the same token")
    pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    return byte_level_bpe(vocabulary, TINY_MERGES, TINY_SPECIALS, pre_tokenizer, CHATML_TEMPLATE)


def smollm2_tokenizer(gguf_path) -> PreTrainedTokenizerFast:
    """The tokenizer and chat template stored in the GGUF file."""
    fields = GGUFReader(gguf_path).fields
    if fields["tokenizer.ggml.pre"].contents() != "smollm":
        raise ValueError("expected the pre-tokenizer 'smollm'")
    tokens = fields["tokenizer.ggml.tokens"].contents()
    types = fields["tokenizer.ggml.token_type"].contents()
    merges = [tuple(merge.split(" ")) for merge in fields["tokenizer.ggml.merges"].contents()]
    control = 3  # token type of special tokens in GGUF
    specials = [token for token, kind in zip(tokens, types, strict=True) if kind == control]
    digits = pre_tokenizers.Digits(individual_digits=True)
    pre_tokenizer = pre_tokenizers.Sequence([digits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    vocabulary = {token: number for number, token in enumerate(tokens)}
    template = fields["tokenizer.chat_template"].contents()
    return byte_level_bpe(vocabulary, merges, specials, pre_tokenizer, template)


def byte_level_bpe(vocabulary, merges, specials, pre_tokenizer, chat_template) -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in specials])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
        unk_token="<|endoftext|>",
        pad_token="<|im_end|>",
        chat_template=chat_template,
        model_max_length=8192,
        clean_up_tokenization_spaces=False,
    )


def encode(tokenizer: PreTrainedTokenizerFast, text: str, parse_special: bool) -> list[int]:
    """Token ids of `text`; special tokens written in it are recognised only if `parse_special`. No BOS is added."""
    return tokenizer.encode(text, add_special_tokens=False, split_special_tokens=not parse_special)
