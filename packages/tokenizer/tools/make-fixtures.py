"""Makes the tokenizer fixtures: small tokenizers of each family, and what the reference libraries do with awkward texts.

Run from anywhere:  python3 packages/tokenizer/tools/make-fixtures.py
Needs:              pip install tokenizers==0.22.2 sentencepiece==0.2.3 protobuf

Training is deterministic, so a second run writes the same files. Versions are recorded in each cases file.
"""
import hashlib
import json
import os
import random
import struct
from collections import Counter

import sentencepiece
import sentence_piece_fixtures
import tokenizers
from awkward_fixtures import across_words, byte_level_cases, cases_of, encode_both
from awkward_texts import TEXTS as AWKWARD
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src", "__fixtures__")

CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
TAIL = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"

# What the tokenizers are trained on: enough repetition for a few hundred merges in several scripts.
SENTENCES = [
    "The quick brown fox jumps over the lazy dog, and then it's the dog's turn to jump.",
    "In the beginning there was the token, and the token was with the model.",
    "for (let i = 0; i < items.length; i++) { console.log(items[i]); }",
    "def encode(self, text):\n    return [self.vocab[piece] for piece in self.split(text)]\n",
    "Ein Würfel fällt, und schon ist alles anders; die Straße führt nach Süden.",
    "Être ou ne pas être, voilà la question que l'élève répète.",
    "Привет, мир! Это проверка токенизатора, и это только проверка.",
    "日本語の文章です。日本の言葉を分けるのは難しいです。",
    "שלום עולם, זה מבחן. مرحبا بالعالم، هذا اختبار.",
    "1234567890 and 1,234.56 and 3.14159 and 2024-01-31",
    "😀😃😄 smile! 👩‍👩‍👧 family 🇩🇪 flag",
    "         indented\n\n\n\ttabbed     spaced",
    "____ ---- ==== aaaa aaaaaaaa ababababab",
]
CORPUS = SENTENCES * 8

TEXTS = [
    "", "a", " ", "  ", "   a  b   ", "Hello, world!", "the the  the\nthe",
    "it's IT'S it'S it\u017f 'twas we've I'LL o'clock it'\u017f x",
    "\n", "\n\n", "\r\n\r\n x \r\n", "\t\t \t\n \n  \n", "a\nb", " \n ", "x" + " " * 40 + "y", "x" + "\n" * 9 + "y",
    "日本語の文章、中文字符。", "한국어 문장입니다", "مرحبا بالعالم", "हिन्दी में लिखा", "ไทยภาษา", "Ελληνικά και Кириллица", "שָׁלוֹם",
    "😀", "👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪🇫🇷 👍🏽", "é e\u0301 ñ n\u0303 Å \u212b ﬁ", "e" + "\u0301" * 30, "q\u0323\u0307 q\u0307\u0323",
    "a\u0085b \ufeffc\u200bd\u00a0e\u2028f\u3000g\u1680h\x1ci", "٣½²Ⅷ 123 १२३ 1a2b3", "1234567 3.14 1,000,000",
    "def f(x):\n    return x ** 2  # ok\n\n\tif x>=3: pass", "''''''\"\"\"```", "$$$ ^^^ ||| ~~~ +++===<<<>>> «x» ¿?",
    "\x00\x01\x02\x7f\x1c\x1d", "a_b __c__ d-e --f-- g.h", "HelloWorld camelCase HTTPServer iPhone ÉCOLE",
    "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n", "<|im_end|><|im_end|>", "x<|im_end|>y <|im_end|> z",
    "<|bos|>text", " <|bos|> text", "<tool>call</tool> <tool> x", "a <mask> b  <mask>  c<mask>", "  <pad>  x", "wordy word sword word!",
    "<|im_start", "|im_start|>", "<<|im_end|>>", "▁", "▁▁ ▁x a▁b", "<0x0A><0xFF>", "\U0010ffff\U000e0001", "\ufffd\ufffe",
    "_" * 100, "=" * 33, "a" * 50, "ab" * 40, "\u4e00" * 20, "aAbBcC" * 5, "xylophone xylophones a xylophone",
]

LONG = {  # name: (text built the same way in the test)
    "underscores": "_" * 50_000,
    "letters": "abcdefghij" * 5_000,
    "one letter": "a" * 50_000,
    "blanks": " " * 50_000,
    "line feeds": "\n" * 50_000,
    "combining marks": "e" + "\u0301" * 25_000,
    "han": "".join(chr(0x4E00 + i * 7919 % 20_000) for i in range(20_000)),
    "words": "the quick brown fox " * 2_500,
}


def dump(path, value):
    with open(os.path.join(OUT, path), "w", encoding="utf-8") as file:
        json.dump(value, file, ensure_ascii=False, separators=(",", ":"))
        file.write("\n")


def digest(ids):
    return hashlib.sha256(struct.pack(f"<{len(ids)}i", *ids)).hexdigest()


# The added tokens that every family gets: control tokens, a plain one, and one for each flag.
def add_tokens(tokenizer, normalized_token):
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in ("<|bos|>", "<|im_start|>", "<|im_end|>")])
    tokenizer.add_special_tokens([
        AddedToken("<mask>", special=True, normalized=False, lstrip=True),
        AddedToken("<pad>", special=True, normalized=False, rstrip=True),
    ])
    tokenizer.add_tokens([
        AddedToken("<tool>", normalized=False),
        AddedToken("word", normalized=False, single_word=True),
        AddedToken(normalized_token, normalized=True),
    ])


def bos_template(tokenizer):
    bos = tokenizer.token_to_id("<|bos|>")
    return processors.TemplateProcessing(single="<|bos|> $A", pair="<|bos|> $A <|bos|> $B", special_tokens=[("<|bos|>", bos)])


def byte_level(pre, normalizer=None, ignore_merges=False, bos=False, normalized_token="</tool>"):
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=430, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(CORPUS, trainer)
    if ignore_merges:  # a word that only its own entry can make
        data = json.loads(tokenizer.to_str())
        data["model"]["vocab"]["Ġxylophone"] = len(data["model"]["vocab"])
        tokenizer = Tokenizer.from_str(json.dumps(data))
    add_tokens(tokenizer, normalized_token)
    if bos:
        tokenizer.post_processor = bos_template(tokenizer)
    return tokenizer


def sentence_piece_like(normalizer, pre=None, decoder=None, byte_fallback=True, fuse_unk=True, bos=False):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=byte_fallback, fuse_unk=fuse_unk))
    if normalizer:
        tokenizer.normalizer = normalizer
    if pre:
        tokenizer.pre_tokenizer = pre
    tokenizer.decoder = decoder
    bytes_ = [f"<0x{b:02X}>" for b in range(256)] if byte_fallback else []
    trainer = trainers.BpeTrainer(vocab_size=len(bytes_) + 260, show_progress=False, special_tokens=["<unk>"] + bytes_)
    # Rare characters stay unknown. (The trainer's own limit breaks ties differently in each run.)
    counts = Counter("".join(CORPUS))
    frequent = set(sorted(counts, key=lambda c: (-counts[c], c))[:110])
    tokenizer.train_from_iterator(["".join(c for c in text if c in frequent) for text in CORPUS], trainer)
    data = json.loads(tokenizer.to_str())
    data["added_tokens"] = [t for t in data["added_tokens"] if t["content"] == "<unk>"]
    tokenizer = Tokenizer.from_str(json.dumps(data))
    add_tokens(tokenizer, "</tool>")
    if bos:
        tokenizer.post_processor = bos_template(tokenizer)
    return tokenizer


def split(source, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(source), behavior, invert)


def with_bytes(*steps):
    return pre_tokenizers.Sequence([*steps, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


LLAMA_DECODER = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
FAMILIES = {
    "gpt2": lambda: byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False)),
    "gpt2-prefix": lambda: byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True)),
    "smollm": lambda: byte_level(
        pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    ),
    "llama3": lambda: byte_level(
        with_bytes(split(CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|" + TAIL)), ignore_merges=True, bos=True
    ),
    "qwen2": lambda: byte_level(
        with_bytes(split(CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|" + TAIL)), normalizer=normalizers.NFC(),
        normalized_token="ﬁ A\u030a",
    ),
    "tekken": lambda: byte_level(
        with_bytes(split(
            r"[^\r\n\p{L}\p{N}]?" + UPPER + "*" + LOWER + r"+|[^\r\n\p{L}\p{N}]?" + UPPER + "+" + LOWER + "*"
            r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        )), ignore_merges=True, bos=True,
    ),
    "gpt4o": lambda: byte_level(with_bytes(split(
        r"[^\r\n\p{L}\p{N}]?" + UPPER + "*" + LOWER + "+" + CONTRACTIONS + "?"
        r"|[^\r\n\p{L}\p{N}]?" + UPPER + "+" + LOWER + "*" + CONTRACTIONS + "?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ))),
    "qwen35": lambda: byte_level(
        with_bytes(split(
            CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        )), normalizer=normalizers.NFC(), normalized_token="ﬁ A\u030a",
    ),
    "neox": lambda: byte_level(
        pre_tokenizers.ByteLevel(add_prefix_space=False), normalizer=normalizers.NFC(), normalized_token="ﬁ A\u030a"
    ),
    # The chain that GGUF files without a pre-tokenizer name imply.
    "gguf-default": lambda: byte_level(
        with_bytes(
            split(r"[\p{P}\$\+<=>\^~\|]+"),
            split(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)"),
            split(r"\p{N}+"), split("[0-9][0-9][0-9]"),
        )
    ),
    # Every way of splitting at once.
    "splits": lambda: byte_level(
        with_bytes(
            pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.Digits(individual_digits=False),
            split(r"\s+", "removed"), split("o", "merged_with_previous"), split("[aä]", "merged_with_next"), split("l", "contiguous"),
            split(".+", "removed", invert=True),
        ), normalizer=normalizers.Sequence([normalizers.NFKD(), normalizers.Replace("q", "$&k"), normalizers.Replace(Regex("x+"), "x")]),
    ),
    "llama2": lambda: sentence_piece_like(
        normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]),
        decoder=decoders.Sequence([*LLAMA_DECODER, decoders.Strip(" ", 1, 0)]), bos=True,
    ),
    "gemma": lambda: sentence_piece_like(
        normalizers.Replace(" ", "▁"), pre_tokenizers.Split(" ", "merged_with_previous"), decoders.Sequence(LLAMA_DECODER), bos=True
    ),
    "metaspace-first": lambda: sentence_piece_like(
        None, pre_tokenizers.Metaspace("▁", prepend_scheme="first", split=False),
        decoders.Sequence([*LLAMA_DECODER, decoders.Strip(" ", 1, 0)]),
    ),
    "metaspace-split": lambda: sentence_piece_like(
        None, pre_tokenizers.Metaspace("▁", prepend_scheme="always", split=True), decoders.Metaspace("▁", "always", True),
        byte_fallback=False, fuse_unk=False,
    ),
}


def make_family(name, tokenizer):
    dump(f"{name}.tokenizer.json", json.loads(tokenizer.to_str()))
    tokenizer = Tokenizer.from_str(tokenizer.to_str())
    cases = []
    for text in TEXTS:
        parsed, plain = encode_both(tokenizer, text)
        with_bos = tokenizer.encode(text, add_special_tokens=True).ids
        cases.append({
            "text": text, "parsed": parsed, "plain": None if plain == parsed else plain, "bos": len(with_bos) - len(plain),
            "decoded": tokenizer.decode(parsed, skip_special_tokens=False),
            "decodedWithoutSpecials": tokenizer.decode(parsed, skip_special_tokens=True),
        })
    # Ids in no sensible order: bytes that form no characters. Byte fallback is left out of it, because the reference then
    # replaces all bytes of a run when one of them is bad, which no stream can do.
    generator = random.Random(name)
    size = tokenizer.get_vocab_size()
    first = 257 if tokenizer.token_to_id("<0x00>") is not None else 0
    noise = [[generator.randrange(first, size) for _ in range(generator.randrange(1, 40))] for _ in range(20)]
    long = {}
    for title, text in LONG.items():
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        long[title] = {"count": len(ids), "sha256": digest(ids)}
    dump(f"{name}.cases.json", {
        "reference": f"tokenizers {tokenizers.__version__} (Python)",
        "cases": cases,
        "noise": [{"ids": ids, "decoded": tokenizer.decode(ids, skip_special_tokens=False)} for ids in noise],
        "long": long,
    })


def make_sentence_piece(name, **options):
    """A model of the reference SentencePiece library, as the metadata that a GGUF file would hold."""
    sp, pieces = sentence_piece_fixtures.train(CORPUS, ["<|im_start|>", "<|im_end|>"], ["<tool>"], **options)
    metadata = sentence_piece_fixtures.metadata_of(sp, pieces, {"prefix": options.get("add_dummy_prefix", True)})
    if options.get("remove_extra_whitespaces"):
        metadata["tokenizer.ggml.remove_extra_whitespaces"] = True
    # SentencePiece has no stretches: it knows neither control tokens in the text nor a blank after a user-defined one.
    # It also drops nothing and merges NUL into the end of its C strings.
    texts = [t for t in [*TEXTS, *AWKWARD] if "<tool>" not in t and "\x00" not in t]
    cases = [{"text": t, "ids": sp.encode(t), "decoded": sp.decode(sp.encode(t))} for t in texts]
    long = {}
    for title, text in LONG.items():
        ids = sp.encode(text)
        long[title] = {"count": len(ids), "sha256": digest(ids)}
    dump(f"{name}.cases.json", {"reference": f"sentencepiece {sentencepiece.__version__} (Python)", "metadata": metadata, "cases": cases, "long": long})


# Families that models in use have; the others are there for parts that no one of these has.
REAL = ["gpt2", "neox", "smollm", "llama3", "qwen2", "qwen35", "tekken", "gpt4o"]

os.makedirs(os.path.join(OUT, "awkward"), exist_ok=True)
shared = across_words(CORPUS)
dump("awkward/texts.json", AWKWARD)
dump("awkward/byte-level.json", shared)
for name, build in FAMILIES.items():
    tokenizer = build()
    make_family(name, tokenizer)
    if name in REAL:
        dump(f"awkward/{name}.json", byte_level_cases(tokenizer, shared))
for name, family in sentence_piece_fixtures.FAMILIES.items():
    tokenizer, metadata = sentence_piece_fixtures.make(family, CORPUS)
    dump(f"awkward/{name}.json", {"tokenizer": json.loads(tokenizer.to_str()), "metadata": metadata, **cases_of(tokenizer)})
make_sentence_piece("spm")
make_sentence_piece("spm-no-prefix", add_dummy_prefix=False)
make_sentence_piece("spm-tidy", remove_extra_whitespaces=True)
