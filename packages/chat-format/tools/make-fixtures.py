"""Makes the chat template fixtures: what Python's Jinja2 renders, set up as Transformers sets it up for chat templates.

Run from anywhere:  python3 packages/chat-format/tools/make-fixtures.py
Needs:              pip install jinja2==3.1.6

The templates in src/__fixtures__/templates are our own, in the style of the models that they are named after.
"""
import datetime
import json
import os

import jinja2
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src", "__fixtures__")
NOW = datetime.datetime(2024, 7, 5, 9, 3, 7)


class Generation(Extension):
    """Transformers marks what the assistant says with this tag; it changes no text."""

    tags = {"generation"}

    def parse(self, parser):
        next(parser.stream)
        return parser.parse_statements(["name:endgeneration"], drop_needle=True)


def environment():
    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, Generation])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda form: NOW.strftime(form)
    return env


def render(source, variables):
    try:
        return {"text": environment().from_string(source).render(**variables)}
    except Exception as error:  # the kind is part of the fixture
        return {"error": f"{type(error).__name__}: {error}"}


user = lambda text: {"role": "user", "content": text}
assistant = lambda text, **more: {"role": "assistant", "content": text, **more}
system = lambda text: {"role": "system", "content": text}
call = lambda name, arguments, id="abcdefgh1": {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}

TOOLS = [
    {"type": "function", "function": {
        "name": "get_weather", "description": "Weather <today> & \"tomorrow\" in a città",
        "parameters": {"type": "object", "properties": {
            "city": {"type": "string", "enum": ["Zürich", "北京"]}, "days": {"type": "integer", "default": 1.0}, "items": {"type": "array"},
        }, "required": ["city"]},
    }},
    {"type": "function", "function": {"name": "noop", "description": "", "parameters": {"type": "object", "properties": {}, "required": []}}},
]
ARGUMENTS = {"city": "Zürich", "days": 1.0, "big": 12345678901234567890, "nested": {"list": [1, None, True, 2.5e-7], "empty": {}}}

CHATS = {
    "one turn": {"messages": [user("Hello!")], "add_generation_prompt": True},
    "system": {"messages": [system("Be  brief. "), user("  Hi there \n"), assistant(" Yes? "), user("Go on")], "add_generation_prompt": True},
    "not for generation": {"messages": [user("a"), assistant("b")]},
    "awkward text": {"messages": [user("<b>&amp;</b> {{ x }} {% y %} 'q' \"d\" \\n \u00a0é日本😀\ufeff\n\n")], "add_generation_prompt": True},
    "empty text": {"messages": [user(""), assistant(""), user("x")], "add_generation_prompt": True},
    "two users": {"messages": [user("a"), user("b")]},
    "thinking": {"messages": [user("q"), assistant("<think>\n\nhm \n</think>\n\n  answer\n"), user("r"), assistant("<think>x</think>y")]},
    "reasoning": {"messages": [user("q"), assistant("a", reasoning_content="\nbecause\n")], "enable_thinking": False},
    "no thinking": {"messages": [user("q")], "add_generation_prompt": True, "enable_thinking": False},
    "tools": {"messages": [system("sys"), user("weather?")], "tools": TOOLS, "add_generation_prompt": True},
    "tool call": {
        "messages": [user("weather?"), assistant("", tool_calls=[call("get_weather", ARGUMENTS)]),
                     {"role": "tool", "tool_call_id": "abcdefgh1", "name": "get_weather", "content": "{\"t\": 21.0}"}, assistant("21 degrees")],
        "tools": TOOLS,
    },
    "two tool calls": {
        "messages": [user("x"), assistant("I call", tool_calls=[call("a", {}), call("b", {"q": "'\"<|im_end|>"}, "123456789")]),
                     {"role": "tool", "tool_call_id": "abcdefgh1", "content": "1"}, {"role": "tool", "tool_call_id": "123456789", "content": "2"}],
        "add_generation_prompt": True,
    },
    "thinking allowed": {"messages": [system("Help. /no_think"), user("q")], "add_generation_prompt": True, "enable_thinking": True},
    "thoughts of turns that are over": {
        "messages": [user("q"), assistant("<think>\nold thought\n</think>\n\nfirst"), user("r"), assistant("second", reasoning_content="old reason"), user("s")],
        "add_generation_prompt": True,
    },
    "thoughts between calls": {
        "messages": [user("q"), assistant("old", reasoning_content="done with"), user("r"), assistant("<think>\nI must look\n</think>\n\n", tool_calls=[call("look", {"at": "it"})]),
                     {"role": "tool", "tool_call_id": "abcdefgh1", "content": "seen"}, assistant("", reasoning_content="and again", tool_calls=[call("look", {})]),
                     {"role": "tool", "tool_call_id": "abcdefgh1", "content": "seen twice"}],
        "tools": TOOLS, "add_generation_prompt": True,
    },
    "thoughts cut off": {"messages": [user("q"), assistant("<think>no end"), user("r"), assistant("no start</think>tail"), user("</think>"), assistant("<think></think>")]},
    "system in the middle": {"messages": [user("q"), assistant("a"), system("now rhyme"), user("r")], "add_generation_prompt": True},
    "system alone": {"messages": [system("s")], "add_generation_prompt": True},
    "tools of the system message": {"messages": [{**system("sys"), "tools": "[{\"name\": \"f\"}]"}, user("x")], "add_generation_prompt": True},
    "tools of the model": {
        "messages": [user("x"), assistant("", tool_calls=[call("brave_search", {"query": "a & b", "n": 2})]), {"role": "ipython", "content": "found"}],
        "builtin_tools": ["brave_search", "code_interpreter"], "date_string": "31 Dec 2025",
    },
    "tools before the messages": {"messages": [system("sys"), user("x")], "tools": TOOLS, "tools_in_user_message": False, "add_generation_prompt": True},
    "five turns": {"messages": [user("a"), assistant("b"), user("c"), assistant("d "), user(" e")], "add_generation_prompt": True},
}

DATA = {
    "none": None, "t": True, "f": False, "zero": 0, "i": 7, "neg": -7, "x": 1.0, "tiny": 1.5e-7, "huge": 1e22, "e15": 123456789012345680.0,
    "big": 12345678901234567, "s": "  Hello, wörld!\n", "quotes": "it's \"x\"", "empty": "", "emoji": "a😀b", "lines": "a\nb\r\nc\n",
    "list": [3, "b", None, [1, 2.0], {"k": "v"}], "words": ["beta", "Alpha", "gamma", "Alpha"], "d": {"b": 1, "a": {"n": [True]}, "items": 5},
    "people": [{"n": "x", "g": 1}, {"n": "y", "g": 2}, {"n": "z"}],
}

SNIPPETS = [
    # printing
    "{{ none }}|{{ t }}|{{ f }}|{{ i }}|{{ neg }}|{{ x }}|{{ tiny }}|{{ huge }}|{{ e15 }}|{{ big }}|{{ undef }}|{{ 1.0 }}|{{ 10**20 }}",
    "{{ list }}|{{ d }}|{{ words }}|{{ (1, 'a') }}|{{ [] }}|{{ {} }}|{{ [quotes, s, emoji, '\\\\ \\t'] }}|{{ ['\u00a0\u200b\x07'] }}",
    "{{ s ~ 1 ~ x ~ none ~ t ~ list }}|{{ 'a' + 'b' }}|{{ 'ab' * 3 }}|{{ 'x' * -1 }}|{{ [1] + [2] }}",
    # JSON
    "{{ d | tojson }}|{{ list | tojson }}|{{ s | tojson }}|{{ x | tojson }}|{{ big | tojson }}|{{ tiny | tojson }}|{{ huge | tojson }}|{{ none | tojson }}",
    "{{ d | tojson(indent=2) }}|{{ [] | tojson(indent=2) }}|{{ {} | tojson(indent=4) }}|{{ list | tojson(indent=0) }}",
    "{{ d | tojson(separators=(',', ':')) }}|{{ d | tojson(sort_keys=true) }}|{{ [emoji, s] | tojson(ensure_ascii=true) }}|{{ d | tojson(indent=1, separators=(';', '=')) }}",
    "{{ '<script>&\\'\"' | tojson }}",
    # arithmetic and comparison
    "{{ 7 // 2 }}|{{ -7 // 2 }}|{{ -7 % 3 }}|{{ 7 % -3 }}|{{ 7 / 2 }}|{{ 4 / 2 }}|{{ 2 ** 3 }}|{{ 1 + 2.0 }}|{{ 3 * 1.5 }}|{{ 7.5 // 2 }}|{{ -i }}",
    "{{ '' == 0 }}|{{ none == undef }}|{{ f == '' }}|{{ 1 == 1.0 }}|{{ t == 1 }}|{{ [1, [2]] == [1, [2]] }}|{{ {'a': 1} == {'a': 1} }}|{{ '1' == 1 }}|{{ undef == undef2 }}",
    "{{ 'a' < 'b' }}|{{ 2 <= 2.0 }}|{{ 'B' < 'a' }}|{{ 1 != '1' }}|{{ 3 > 2 }}|{{ 'é' > 'z' }}",
    "{{ 'b' in list }}|{{ [1, 2.0] in list }}|{{ 'x' in 'xyz' }}|{{ 'a' in d }}|{{ 'q' not in d }}|{{ 1 in undef }}|{{ none in list }}",
    "{{ t and 'yes' or 'no' }}|{{ '' or 'default' }}|{{ not [] }}|{{ 'a' if f else 'b' }}|{{ 'a' if f }}|{{ (t and f) or i }}",
    # strings
    "[{{ s.strip() }}][{{ s.lstrip() }}][{{ s.rstrip() }}][{{ 'xxaxx'.strip('x') }}][{{ '\\n\\n a \\n'.lstrip('\\n') }}][{{ 'abcab'.rstrip('ab') }}]",
    "{{ 'a,b,,c'.split(',') }}|{{ ' a  b '.split() }}|{{ 'a,b,c'.split(',', 1) }}|{{ ' a  b c '.split(none, 1) }}|{{ 'a,b,c'.rsplit(',', 1) }}|{{ ''.split() }}|{{ ''.split(',') }}",
    "{{ lines.splitlines() }}|{{ 'k=v=w'.partition('=') }}|{{ s.upper() }}|{{ s.lower() }}|{{ 'hELLO wORLD'.capitalize() }}|{{ \"it's 3d\".title() }}",
    "{{ s.replace('l', 'L') }}|{{ 'aaa'.replace('a', 'b', 2) }}|{{ 'ab'.replace('', '-') }}|{{ 'a.b$&'.replace('.', '$&') }}",
    "{{ s.startswith('  H') }}|{{ s.endswith(('x', '\\n')) }}|{{ 'abc'.find('c') }}|{{ 'abc'.find('x') }}|{{ emoji.find('b') }}|{{ 'abab'.count('ab') }}|{{ ', '.join(words) }}",
    "{{ 'prefix-x'.removeprefix('prefix-') }}|{{ 'x.txt'.removesuffix('.txt') }}|{{ '12'.isdigit() }}|{{ 'ab1'.isalpha() }}|{{ ' '.isspace() }}|{{ 'AB'.isupper() }}",
    "{{ emoji|length }}|{{ emoji[1:] }}|{{ emoji[::-1] }}|{{ 'abcdef'[1:4] }}|{{ 'abcdef'[-2:] }}|{{ 'abcdef'[:-1] }}|{{ 'abcdef'[::2] }}|{{ 'abc'[5:] }}|{{ 'abc'[0] }}|{{ 'abcdef'[4:1:-1] }}",
    "{{ words[1:] }}|{{ words[::-1] }}|{{ words[-1] }}|{{ list[3][1] }}|{{ list[9] }}|{{ d['a']['n'][0] }}|{{ d.a.n }}|{{ d.missing }}|{{ d.get('q', 'none') }}|{{ d.get('q') }}",
    # mappings
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}|{{ d['items'] }}|{{ d.keys() | list }}|{{ d.values() | list }}|{% for k in d %}{{ k }}{% endfor %}|{{ d | items | list }}",
    "{{ d | dictsort }}|{{ {'B': 1, 'a': 2} | dictsort }}|{{ {'x': 2, 'y': 1} | dictsort(by='value') }}|{{ {'x': 2, 'y': 1} | dictsort(reverse=true) }}|{{ d | length }}|{% for k, v in d|dictsort %}{{ k }}{% endfor %}|{{ dict(a=1, b='x') }}",
    # filters
    "[{{ s | trim }}][{{ 'xax' | trim('x') }}][{{ words | join(', ') }}][{{ list | join('-') }}][{{ people | join('+', attribute='n') }}][{{ 'abc' | join('.') }}]",
    "{{ words | first }}|{{ words | last }}|{{ [] | first }}|{{ words | sort | list }}|{{ words | unique | list }}|{{ words | reverse | list }}|{{ 'abc' | reverse }}|{{ 'abc' | list }}",
    "{{ undef | default('d') }}|{{ '' | default('d') }}|{{ '' | default('d', true) }}|{{ none | default('d') }}|{{ undef | d('e') }}|{{ undef | length }}",
    "{{ people | map(attribute='g', default=0) | list }}|{{ people | selectattr('g') | map(attribute='n') | list }}|{{ people | selectattr('g', 'defined') | selectattr('g', 'gt', 1) | list | length }}|{{ people | rejectattr('g', 'defined') | list }}",
    "{{ words | map('upper') | list }}|{{ list | select('string') | list }}|{{ list | reject('none') | list | length }}|{{ people | selectattr('n', 'in', ['x', 'z']) | list | length }}",
    "{{ '3' | int }}|{{ 'x' | int }}|{{ 'x' | int(5) }}|{{ 3.9 | int }}|{{ -3.9 | int }}|{{ '2.5' | float }}|{{ 7 | string }}|{{ 1.0 | string }}|{{ t | string }}|{{ none | string }}|{{ -3 | abs }}",
    "{{ 'a\\nb\\n\\nc' | indent }}|{{ 'a\\nb' | indent(2, true) }}|{{ 'a\\n\\nb' | indent(width=1, blank=true) }}|{{ 'aXbX' | replace('X', '-') }}|{{ 'hELLO' | capitalize }}|{{ 'abc' | upper }}|{{ 'x y' | title }}",
    "{% filter upper %}a{{ i }}b{% endfilter %}|{% set block %}x{{ i }}{% endset %}{{ block }}",
    # tests
    "{{ undef is defined }}|{{ none is none }}|{{ d is mapping }}|{{ list is sequence }}|{{ s is string }}|{{ list is iterable }}|{{ d is iterable }}|{{ s is iterable }}|{{ i is iterable }}",
    "{{ t is boolean }}|{{ 1 is number }}|{{ t is number }}|{{ 1.0 is float }}|{{ 1 is integer }}|{{ t is integer }}|{{ t is true }}|{{ 1 is true }}|{{ f is false }}|{{ i is odd }}|{{ i is even }}|{{ range is callable }}",
    "{{ none is not none }}|{{ undef is not defined }}|{{ 'A' is upper }}|{{ 'a' is lower }}|{{ undef is none }}",
    # loops
    "{% for w in words %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.previtem }}{{ loop.nextitem }};{% endfor %}",
    "{% for i in range(3) %}{% if i == 0 %}{% set v = 'set' %}{% endif %}[{{ v }}]{% endfor %}[{{ v }}][{{ i }}]",
    "{% for i in range(5) %}{{ i }}{% if i == 1 %}c{% continue %}{% endif %}{% if i == 3 %}b{% break %}{% endif %}.{% endfor %}",
    "{% for x in [] %}a{% else %}none{% endfor %}|{% for x in undef %}a{% else %}none{% endfor %}|{% for c in emoji %}<{{ c }}>{% endfor %}|{% for i in range(10, 0, -3) %}{{ i }}{% endfor %}",
    "{% for i in range(6) if i is odd %}{{ i }}:{{ loop.index }} {% endfor %}|{% for a, b in [[1, 2], (3, 4)] %}{{ a + b }} {% endfor %}|{% for i in range(4) %}{{ loop.cycle('x', 'y') }}{% endfor %}",
    "{% set ns = namespace(n=0, s='') %}{% for w in words %}{% set ns.n = ns.n + loop.index %}{% set ns.s = ns.s ~ w[0] %}{% endfor %}{{ ns.n }}{{ ns.s }}",
    "{% for a in [1, 2] %}{% for b in [1, 2] %}{{ a }}{{ b }}{{ loop.index }}{% endfor %}{{ loop.index }}{% endfor %}",
    # macros
    "{% macro m(a, b='x', c=none) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }}|{{ m(1, 2) }}|{{ m(1, c=3) }}|{{ m('a') | upper }}",
    "{% macro f(n) %}{% if n > 0 %}{{ n }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(4) }}",
    "{% generation %}a{{ i }}{% endgeneration %}b{%- generation -%} c {%- endgeneration %}", "{% macro w() %}[{{ caller() }}]{% endmacro %}{% call w() %}in{% endcall %}",
    # white space
    "a\n  {% if t %}\n  b\n  {% endif %}\nc\n\n", "  {%- if t -%}  x  {%- endif -%}  y", "{# c #}\nx{#- d -#}  y\n  {# e #}\nz", "a {{- ' b ' -}} c\n\n\n", "{{ 'x' }}\n{{ 'y' }}\n",
    # dates and errors
    "{{ strftime_now('%d %b %Y') }}|{{ strftime_now('%A, %B %-d, %Y %H:%M:%S %I %p %y %m %j %%') }}",
    "{{ raise_exception('no: ' ~ i) }}", "{{ undef.x }}", "{{ none + 'a' }}", "{{ 'a' + 1 }}", "{% for x in 5 %}{% endfor %}", "{{ undef | tojson }}",
]

# Where Jinja2 fails and the library does not: a template that the reference cannot render is of no use to anybody, so these
# are left as they are. The test checks that they still differ.
LENIENT = ["{{ undef.x }}", "{{ 'a' + 1 }}"]

cases = []
for name in sorted(os.listdir(os.path.join(HERE, "templates"))):
    source = open(os.path.join(HERE, "templates", name), encoding="utf-8").read()
    for title, chat in CHATS.items():
        variables = {"tools": None, "documents": None, "add_generation_prompt": False, "bos_token": "<s>", "eos_token": "</s>", **chat}
        cases.append({"template": name, "title": title, "request": chat, **render(source, variables)})

with open(os.path.join(HERE, "jinja2.json"), "w", encoding="utf-8") as file:
    json.dump({
        "reference": f"Jinja2 {jinja2.__version__} (Python), set up as in Transformers", "now": NOW.isoformat(), "data": json.dumps(DATA, ensure_ascii=False),
        "snippets": [{"source": source, "isLenient": source in LENIENT, **render(source, DATA)} for source in SNIPPETS],
        "chats": [{**case, "request": json.dumps(case["request"], ensure_ascii=False)} for case in cases],
    }, file, ensure_ascii=False, indent=1)
    file.write("\n")
