import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { byteVocabulary } from './__fixtures__/byte-vocabulary.ts';
import { accepts, idsOf, walk } from './__fixtures__/walk.ts';
import { type ConstraintCompiler, createConstraintCompiler } from './constraint-compiler.ts';
import type { ConstraintSource } from './constraint-source.ts';

const { vocabulary, end, control, hole } = byteVocabulary();
let compiler: ConstraintCompiler;
beforeAll(() => {
  compiler = createConstraintCompiler(vocabulary);
});
afterAll(() => compiler.dispose());

const bytes = (text: string) => [...new TextEncoder().encode(text)];

/** Which of the texts a constraint takes. */
async function taken(source: ConstraintSource, texts: readonly string[]): Promise<string[]> {
  const constraint = await compiler.compile(source);
  const isTaken: boolean[] = [];
  for (const text of texts) isTaken.push(await accepts(constraint, text));
  return texts.filter((_, index) => isTaken[index]);
}

/** Ids that may come after a text. */
async function allowedAfter(source: ConstraintSource, text: string): Promise<number[]> {
  const matcher = (await compiler.compile(source)).start();
  const mask = await matcher.nextMask(bytes(text));
  matcher.dispose();
  return idsOf(mask);
}

it('takes schemas with integers of 64 bits, and says of a grammar that it nests too deep', async () => {
  const schema = { type: 'integer', minimum: 0, maximum: 2n ** 63n - 1n, default: 2n ** 62n + 1n };
  const texts = ['9223372036854774784', '9223372036854775808', '-1', '7'];
  expect(await taken({ kind: 'json-schema', schema }, texts)).toEqual(['9223372036854774784', '7']);
  const grammar = `root ::= ${'('.repeat(20_000)}"a"${')'.repeat(20_000)}`;
  await expect(compiler.compile({ kind: 'grammar', grammar })).rejects.toMatchObject({
    code: 'constraint',
    message: expect.stringContaining('nests too deep'),
  });
});

describe('JSON mode', () => {
  it('takes objects only', async () => {
    const right = ['{}', '{ }', '{"a":1}', '{"a": [1, "x", {"b": null}], "c": true}', '{\n  "a": -1.5e+10\n}'];
    const wrong = [
      '',
      '1',
      '[]',
      '"{}"',
      '{',
      '{"a"}',
      '{a:1}',
      '{"a":1,}',
      '{"a":01}',
      '{"a":1}x',
      "{'a':1}",
      '{"a":\t1}',
    ];
    expect(await taken({ kind: 'json' }, [...right, ...wrong])).toEqual(right);
  });

  it('takes every escape of JSON, and no half characters', async () => {
    const right = ['{"\\"\\\\\\/\\b\\f\\n\\r\\t":0}', '{"\\u00e9\\uD83D\\ude00":"😀é"}', '{"\u007f\u2028":0}'];
    const wrong = ['{"\n":0}', '{"\\x":0}', '{"\\u12":0}', '{"\\ud83d":0}', '{"\\ude00\\ud83d":0}', '{"\u0000":0}'];
    expect(await taken({ kind: 'json' }, [...right, ...wrong])).toEqual(right);
  });

  it('has to end right after the last bracket, and bounds every run of white space (B44)', async () => {
    expect(await allowedAfter({ kind: 'json' }, '{"a": 1}')).toEqual([end]);
    // Without texts, in which blanks are no white space.
    const schema = { type: 'array', items: { type: 'array', items: { type: 'null' } } };
    const constraint = await compiler.compile({ kind: 'json-schema', schema });
    const blanks = [0x0a, 0x20, 0x09, 0x0d];
    let longest = 0;
    let run = 0;
    const choose = (allowed: readonly number[]) => {
      const blank = blanks.find((id) => allowed.includes(id));
      run = blank === undefined ? 0 : run + 1;
      longest = Math.max(longest, run);
      return blank ?? allowed.find((id) => id !== end) ?? end;
    };
    await walk(constraint, vocabulary, choose, 200);
    expect(longest).toBe(21);
  });
});

describe('end tokens, control tokens and holes', () => {
  it('the end is allowed exactly where the text may end', async () => {
    const source: ConstraintSource = { kind: 'json-schema', schema: { type: 'integer' } };
    expect(await allowedAfter(source, '')).not.toContain(end);
    expect(await allowedAfter(source, '-')).not.toContain(end);
    expect(await allowedAfter(source, '12')).toContain(end);
    expect(await allowedAfter(source, '0')).toEqual([end]);
  });

  it('no control token and no row without a token is ever allowed, although the text of one would fit', async () => {
    for (const source of [
      { kind: 'json' },
      { kind: 'grammar', grammar: 'root ::= [^a]* | "\\"<|control|>\\""' },
      { kind: 'tags', triggers: ['<t>'], tags: [{ begin: '<t>', schema: true, end: '</t>' }] },
    ] satisfies ConstraintSource[]) {
      for (const text of ['', '{"a":'.slice(0, source.kind === 'json' ? 5 : 0)]) {
        const allowed = await allowedAfter(source, text);
        expect([control, hole].filter((id) => allowed.includes(id))).toEqual([]);
      }
    }
  });

  it('tokens with half a character are allowed where the other half can come', async () => {
    const source: ConstraintSource = { kind: 'choice', choices: ['😀', 'é"'] };
    const constraint = await compiler.compile(source);
    const halves = [...Array(vocabulary.vocabSize).keys()].filter(
      (id) => id > 255 && vocabulary.tokenBytes(id).length === 2,
    );
    const first = halves.find((id) => vocabulary.tokenBytes(id)[0] === 0xf0)!;
    const matcher = constraint.start();
    expect(idsOf(await matcher.nextMask([]))).toContain(first);
    const second = halves.find((id) => vocabulary.tokenBytes(id)[0] === 0x98)!;
    expect(idsOf(await matcher.nextMask([first])).sort()).toEqual([0x98, second].sort());
    expect(idsOf(await matcher.nextMask([first, second]))).toEqual([end]);
    matcher.dispose();
  });

  it('bytes that are no UTF-8 are not allowed, although the library would let them through', async () => {
    const source: ConstraintSource = { kind: 'grammar', grammar: 'root ::= [^a]*' };
    const constraint = await compiler.compile(source);
    const after = async (ids: number[]) => {
      const matcher = constraint.start();
      const mask = await matcher.nextMask(ids);
      matcher.dispose();
      return idsOf(mask);
    };
    const first = await after([]);
    expect([0x80, 0xc0, 0xc1, 0xf5, 0xff].filter((id) => first.includes(id))).toEqual([]);
    expect(first).toContain(0xc2);
    expect(await after([0xe0])).toEqual(Array.from({ length: 32 }, (_, index) => 0xa0 + index));
    expect(await after([0xed])).not.toContain(0xa0);
    expect(await after([0xed])).not.toContain(end);
    await expect(after([0xc0])).rejects.toMatchObject({ code: 'constraint' });
  });
});

describe('JSON schemas', () => {
  it('enums behind references take their values only, with their escapes (B42)', async () => {
    const schema = {
      type: 'object',
      additionalProperties: false,
      required: ['who', 'mood'],
      properties: { who: { $ref: '#/$defs/Who' }, mood: { $ref: '#/$defs/Mood' } },
      $defs: { Who: { enum: ['Ann', 'Boé', 'a"b\\c'] }, Mood: { type: 'string', enum: ['up', 'upper', 'down'] } },
    };
    const right = [
      '{"who":"Ann","mood":"up"}',
      '{"who": "Boé", "mood": "upper"}',
      '{"who":"a\\"b\\\\c","mood":"down"}',
    ];
    const wrong = ['{}', '{"who":"Ann","mood":"uppe"}', '{"who":{},"mood":"up"}', '{"mood":"up","who":"Ann"}'];
    expect(await taken({ kind: 'json-schema', schema }, [...right, ...wrong])).toEqual(right);
  });

  it('enums of several types (B42)', async () => {
    const schema = { enum: [1, '1', null, true, { a: [1] }] };
    const right = ['1', '"1"', 'null', 'true', '{"a":[1]}'];
    expect(await taken({ kind: 'json-schema', schema }, [...right, '11', 'false', '{"a":[]}', '1.0'])).toEqual(right);
  });

  it('recursion (B42)', async () => {
    const node = {
      type: 'object',
      additionalProperties: false,
      required: ['v', 'kids'],
      properties: { v: { type: 'integer' }, kids: { type: 'array', maxItems: 2, items: { $ref: '#/$defs/N' } } },
    };
    const leaf = '{"v":1,"kids":[]}';
    const tree = `{"v":0,"kids":[${leaf}, {"v":-2,"kids":[${leaf}]}]}`;
    const wrong = [`{"v":0,"kids":[${leaf},${leaf},${leaf}]}`, '{"v":0,"kids":[1]}'];
    const source: ConstraintSource = { kind: 'json-schema', schema: { $ref: '#/$defs/N', $defs: { N: node } } };
    expect(await taken(source, [leaf, tree, ...wrong])).toEqual([leaf, tree]);
  });

  it('an optional branch that could not end is not begun', async () => {
    const schema = {
      properties: { a: { type: 'integer' }, next: { $ref: '#/$defs/E' } },
      $defs: { E: { properties: { e: { $ref: '#/$defs/E' } }, required: ['e'] } },
    };
    const right = ['{}', '{"a":1}'];
    expect(await taken({ kind: 'json-schema', schema }, [...right, '{"next":{}}'])).toEqual(right);
    expect(await allowedAfter({ kind: 'json-schema', schema }, '{"')).toEqual([...bytes('a')]);
  });

  it('objects are closed when they have properties, but for names that are required', async () => {
    const named = { properties: { a: { type: 'null' } }, required: ['b'] };
    const right = ['{"b":[1]}', '{"a":null,"b":"x"}'];
    const wrong = ['{}', '{"a":null}', '{"b":1,"c":1}'];
    expect(await taken({ kind: 'json-schema', schema: named }, [...right, ...wrong])).toEqual(right);
    const none = { type: 'object', properties: {} };
    expect(await taken({ kind: 'json-schema', schema: none }, ['{}', '{"a":1}'])).toEqual(['{}']);
    const any = { type: 'object' };
    expect(await taken({ kind: 'json-schema', schema: any }, ['{}', '{"a":1}'])).toEqual(['{}', '{"a":1}']);
  });

  it('other properties never come in the name of one that is declared', async () => {
    const schema = { properties: { a: { type: 'integer' } }, additionalProperties: { type: 'string' } };
    const right = ['{"a":1}', '{"b":"x"}', '{"a":1,"aa":"x","":"y"}'];
    const wrong = ['{"a":"x"}', '{"b":1}', '{"a":1,"a":"x"}', '{"a":1,"\\u0061":"x"}'];
    expect(await taken({ kind: 'json-schema', schema }, [...right, ...wrong])).toEqual(right);
  });
});

describe('grammars and choices', () => {
  it('choices take their texts as they are', async () => {
    const choices = ['yes', 'yesterday', 'no "really"\n', '日本', '[a-z]'];
    expect(await taken({ kind: 'choice', choices }, [...choices, 'y', 'yester', '"yes"', 'a'])).toEqual(choices);
    expect(await allowedAfter({ kind: 'choice', choices }, 'yes')).toEqual([...bytes('t'), end]);
  });

  it('grammars in EBNF', async () => {
    const grammar = 'root ::= "a" list?\nlist ::= "b" list | [0-9]{2}';
    expect(await taken({ kind: 'grammar', grammar }, ['a', 'abb12', 'a1', 'ab', 'b12'])).toEqual(['a', 'abb12']);
  });

  it.each([
    ['an unknown rule', 'root ::= foo', /line 1.*foo/],
    ['an open string', 'root ::= "a', /line 1/],
    ['a rule without its end', 'root ::= ', /line 1.*the grammar ends there\.$/],
    ['no root', 'start ::= "a"', /root/],
    ['no text', 'root ::= root', /no text/],
    ['nothing', '', /root/],
  ])('%s is refused, and the next grammar works', async (_, grammar, message) => {
    const refused = compiler.compile({ kind: 'grammar', grammar });
    await expect(refused).rejects.toMatchObject({ code: 'constraint', message: expect.stringMatching(message) });
    expect(await taken({ kind: 'choice', choices: ['a'] }, ['a'])).toEqual(['a']);
  });
});

describe('tags in free text', () => {
  const call = (name: string) => ({
    begin: `<tool_call>{"name": "${name}", "arguments": `,
    schema: { type: 'object', properties: { x: { type: 'integer' } }, required: ['x'] },
    end: '}</tool_call>',
  });
  const source = { kind: 'tags', triggers: ['<tool_call>'], tags: [call('add'), call('sub')] } as const;
  const add = '<tool_call>{"name": "add", "arguments": {"x": 1}}</tool_call>';

  it('leave the text free until the trigger, and hold it to a tag from there', async () => {
    const right = ['', 'Just é text', `Let me see. ${add}`, `${add}\n${add.replace('add', 'sub')} done`, 'a <tool'];
    const wrong = ['<tool_call>', add.replace('add', 'mul'), add.replace('1', '"1"'), `a ${add.slice(0, -5)}`];
    expect(await taken(source, [...right, ...wrong])).toEqual(right);
    expect(await allowedAfter(source, 'x <tool_call>')).not.toContain(end);
  });

  it('can be asked for, and be the last thing', async () => {
    const required = { ...source, atLeastOne: true, stopAfterFirst: true };
    expect(await taken(required, ['', 'text', `text ${add}`, add, `${add}${add}`])).toEqual([add]);
    expect(await allowedAfter(required, add)).toEqual([end]);
  });

  it('have to begin with a trigger', async () => {
    const refused = compiler.compile({ ...source, triggers: ['<call>'] });
    await expect(refused).rejects.toMatchObject({ code: 'constraint', message: expect.stringMatching(/triggers/) });
  });
});
