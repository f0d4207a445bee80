"""Texts on which tokenizers go wrong: what `make-fixtures.py` encodes with each family."""
import random

# One line per script: letters, digits and marks of its own, and its own way of putting blanks.
SCRIPTS = [
    "The naïve café's façade costs £5 — or €6…", "Ærø, Łódź, İstanbul ıI, ǅ ŉ ß ẞ ſ", "Ελληνικά: ΐ ΰ ς Σ σ", "Съешь ещё этих мягких булок", "Հայերեն և ու", "ქართული ᲥᲐᲠ",
    "שָׁלוֹם עוֹלָם \u200f(בדיקה)\u200e 12", "مَرْحَبًا بِالعَالَم، ٣٤٥؟ لا", "پارسی می\u200cخواهم ۱۲۳", "ܫܠܡܐ", "हिन्दी क्षत्रिय श्री १२३", "বাংলা ৳৫", "ਪੰਜਾਬੀ", "ગુજરાતી", "தமிழ் கொ", "తెలుగు", "ಕನ್ನಡ",
    "മലയാളം ക്\u200d", "සිංහල", "ภาษาไทยไม่มีช่องว่าง ๑๒๓", "ພາສາລາວ", "བོད་ཡིག", "မြန်မာ", "ខ្មែរ", "አማርኛ ፩፪", "日本語の文章。ｶﾀｶﾅ　全角ＡＢＣ１２３", "中文，没有空格！〇二〸", "한국어 문장 각",
    "\u1112\u1161\u11ab\u1100\u1173\u11af \u1100\u1161", "ᠮᠣᠩᠭᠣᠯ", "ᏣᎳᎩ ꭰ", "𐐨𐐀 𝒜𝟙𝟚 𝔘𝔫𝔦", "𓀀𓂀 𒀀 𐎀", "ꦗꦮ 𑀩𑁆𑀭", "Tiếng Việt: ườ Ừ", "ʰˠ ₐ₁² ½¾ Ⅻ ㋿ ㏒",
]
EMOJI = [
    "😀😃", "👍🏽👩🏿‍🔬", "👨‍👩‍👧‍👦👨‍👨‍👦", "🏳️‍🌈🏴‍☠️", "🇩🇪🇫🇷🇺", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "1️⃣#️⃣*️⃣", "☺☺️☺︎ ❤️‍🔥", "a🏽b", "\u200d🙂\u200d", "\ufe0f\ufe0f", "𝄞𝄢 ♩", "🫠🪿",
]
MARKS = [
    "e\u0301 é e\u0301\u0302 \u0301", "\u0301start", "A\u030aÅ\u212b", "q\u0307\u0323q\u0323\u0307", "o\u0308\u0332\u0332", "Z͑ͫa̴l̷g̸o̵", "\u0344 \u0958 \ufb1d \U0001d15e", "ﬁ ﬀ ㎏ ™ ℃ ①", "x" + "\u0300" * 40 + "y", "\u1e9b\u0323", "각각\u11a8", "가\u11a8\u11a8",
]
BLANKS = [
    " ", "  ", "   ", " a", "a ", " a ", "  a  b   c    d", "a" + " " * 31 + "b", "a" + " " * 64 + "b", " " * 17, "\t", "\t\t", " \t ", "\t a\tb \t", "\n", "\n\n\n", "\r", "\r\n", "\r\r\n\n", "a\r\nb\rc\nd\r\n\r\ne", " \n", "\n ", " \n \n ", "a \n b\n\n\n  c",
    "\u00a0", "a\u00a0b", "\u00a0\u00a0 \u00a0a", "a\u3000b\u3000\u3000c", "\u3000", "\u2002\u2003\u2009a\u200a", "\u2028a\u2029b", "\u0085a\u0085", "\u1680 \u205f", "\u180ea\u200bb\u2060c\ufeff", "\ufeffstart", "\x0b\x0c\x1c\x1d\x1e\x1f", "a\x0b b\x0c\n", "x \u00a0 \n\u3000\n y", "▁", "▁▁", " ▁ ", "a▁b ▁c", "Ġ ĠĠ Ċ", "word  \n", "\n\n    return x\n",
]
CODE = [
    "for (let i = 0; i < n; ++i) { a[i] += b[i] ** 2; } // ok\n", "def f(x):\n    if x:\n\t\treturn {'a': [1, 2]}\n    # ...\n", "<div class=\"a\">&nbsp;<br/></div>", "SELECT * FROM t WHERE a!='b' AND c>=1;--", "https://example.org/a?b=c&d=%20#e", "C:\\temp\\new\\table", "x=$HOME/${y}\\n`z`", "{\"a\": [1.5e-3, null, true], \"b\": {}}",
    "#include <a.h>\r\n\r\nint main(void) {\r\n\treturn 0;\r\n}\r\n", "a.b.c()->d::e", "!!!??? ... ;;; ,,, ((())) [[]] {{}}", "--- === *** ___ ~~~ ``` ///", "a/b//c/\n/d", "snake_case camelCase PascalCase SCREAMING_CASE kebab-case HTTPServer2Go iOS", "I'm you're he'll we'd they've it's 'tis IT'S WE'LL can'T rock'n'roll o\u2019clock '\u017f 's's", "don''t ''s ' s 'S 'LL 'Ve",
]
NUMBERS = ["0", "12", "123", "1234", "12345678901234567890", "3.14159", "1,234,567.89", "-1e+10", "0x1F", "1st 2nd", "٣٤٥٦", "१२३४", "１２３４", "²³½Ⅷ", "a1b22c333d4444", "1 2  3   4", "2024-01-31T23:59:59Z", "+49 (0)30 123", "9️⃣9", "৪৫৬৭৮"]
RUNS = ["_" * 67, "=" * 40, "-" * 81, "." * 33, "a" * 50, "A" * 31, "ab" * 30, "é" * 20, "中" * 25, "😀" * 12, "\u0301" * 9, "0" * 23, "!" * 19, "\n" * 35, "\t" * 21, "\r\n" * 9, "'" * 11, "haha" * 9 + "h"]
CONTROLS = [chr(code) for code in [*range(0, 32), *range(127, 160)]] + ["a\x00b", "\x00\x00", "\x1b[31mred\x1b[0m", "\x07 \x08\x7f", "\ufffd", "\ufffe\uffff", "\U0010ffff", "\ue000\uf8ff", "\u00ad a\u00adb"]
# Every byte that can stand in UTF-8, in text: all of Latin-1, and the first and last character of each length.
BYTES = ["".join(map(chr, range(start, start + 64))) for start in range(0, 256, 64)] + ["\x7f\x80\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U000fffff\U00100000\U0010ffff", "".join(chr(0x10000 * plane + 0xabc) for plane in range(1, 17)), "".join(chr(0x80 * lead + 0x35) for lead in range(2, 16)), "".join(chr(0x1000 * lead + 0x5a5) for lead in range(13)), "\ue5a5\uf5a5"]
# Written by people: what looks like a token of some family, whole, cut, in words, with blanks.
TOKENS = [
    "<|im_start|>user\nhi<|im_end|>\n", "a<|im_end|>b", "pre<think>post</think>", "<think>\n\n</think>\n\n", " <think> ", "<tool_call>{}</tool_call>", "<|im_start", "im_end|>", "<|im_<|im_end|>end|>", "<s>", "</s>", "a<s>b </s> c", "<unk>", "x<unk>y", "<pad>", "[INST] a [/INST]", "[TOOL_CALLS][AVAILABLE_TOOLS]", "<|begin_of_text|><|eot_id|>",
    "<|start_header_id|>user<|end_header_id|>\n\n", "<bos><start_of_turn>user\nhi<end_of_turn>\n", "<|user|>\n hi <|end|>\n\n<|assistant|>\n", "<|end|>  \t\n x", "a <|end|> b", "</s>  x", "<|endoftext|>", "a<|endoftext|> b", "<0x41>", "<0xFF>", "<0x0A>x", "<unused1>", "<table>\n\n</table>", "\n\n\n<h1> x", "<|user|><|user|>", "<|END|>", "＜s＞",
]


def noise():
    """Random strings over alphabets that meet at the joints of the patterns."""
    generator = random.Random("awkward")
    alphabets = ["ab '\n", " \t\r\n\u00a0\u3000x", "aA1é\u0301中. ", "'sStTrReEvVlLdDmM\u017f ", "0123456789a٣ ", "!?/.\n\r -a", "😀\u200d🏽\ufe0f🇩x ", "".join(map(chr, range(0x20, 0x180))), "▁ a\nb▁", "<|im_end|>s/ ", "\u1112\u1161\u11ab한e\u0301\u0323"]
    for alphabet in alphabets:
        for _ in range(12):
            yield "".join(generator.choice(alphabet) for _ in range(generator.randrange(3, 40)))
    for _ in range(30):
        yield "".join(chr(generator.choice([generator.randrange(0x20, 0x250), generator.randrange(0x300, 0xd800), generator.randrange(0xe000, 0x10000), generator.randrange(0x10000, 0x20000)])) for _ in range(generator.randrange(1, 12)))


TEXTS = [*SCRIPTS, *EMOJI, *MARKS, *BLANKS, *CODE, *NUMBERS, *RUNS, *CONTROLS, *BYTES, *TOKENS, *noise(), " ".join(SCRIPTS), "\n".join(CODE)]
