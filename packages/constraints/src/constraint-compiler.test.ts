import { afterEach, describe, expect, it } from 'vitest';
import { byteVocabulary } from './__fixtures__/byte-vocabulary.ts';
import { idsOf } from './__fixtures__/walk.ts';
import { type ConstraintCompilerOptions, createConstraintCompiler } from './constraint-compiler.ts';
import type { ConstraintSource } from './constraint-source.ts';

const { vocabulary, end } = byteVocabulary();
const bytes = (text: string) => [...new TextEncoder().encode(text)];

let dispose: () => Promise<void> = async () => {};
afterEach(() => dispose());

function open(options: ConstraintCompilerOptions = {}) {
  const compiler = createConstraintCompiler(vocabulary, options);
  dispose = () => compiler.dispose();
  return compiler;
}

/** Counts within counts, which the library writes out. */
const hostile: ConstraintSource = { kind: 'grammar', grammar: `root ::= ${'([a-z]{1,120} "x"){0,120} '.repeat(50)}` };

describe('limits', () => {
  it('a grammar that takes too long is refused, and texts in the same thread go on', async () => {
    const compiler = open({ numThreads: 1, limits: { compileTimeMs: 1500 } });
    const matcher = (await compiler.compile({ kind: 'choice', choices: ['abc', 'abd'] })).start();
    await matcher.nextMask(bytes('a'));
    await expect(compiler.compile(hostile)).rejects.toMatchObject({ code: 'constraint', details: { limit: 'time' } });
    expect(idsOf(await matcher.nextMask(bytes('ab')))).toEqual(bytes('cd'));
    matcher.dispose();
  });

  it('a text whose masks take too long fails, and others in the same thread go on', async () => {
    const compiler = open({ numThreads: 1, limits: { maskTimeMs: 1000 } });
    const matcher = (await compiler.compile({ kind: 'choice', choices: ['abc', 'abd'] })).start();
    await matcher.nextMask(bytes('a'));
    // Compiled soon; but letters may belong together in more and more ways.
    const grammar = 'root ::= (a? a?){0,100} "!"\na ::= [a-z] | [a-m] b?\nb ::= [a-z] a?';
    const slow = (await compiler.compile({ kind: 'grammar', grammar })).start();
    await slow.nextMask([]);
    const failed = slow.nextMasks([], bytes('a'.repeat(99)));
    await expect(failed).rejects.toMatchObject({ code: 'constraint', details: { limit: 'time' } });
    expect(idsOf(await matcher.nextMask(bytes('ab')))).toEqual(bytes('cd'));
    await expect(slow.nextMask([])).rejects.toMatchObject({ code: 'constraint' });
    for (const each of [matcher, slow]) each.dispose();
  });

  it('a grammar that needs too much memory is refused, and the next one works', async () => {
    const compiler = open({ numThreads: 1, limits: { compileTimeMs: 60_000, memoryMiB: 20 } });
    const texts = (await compiler.compile({ kind: 'choice', choices: ['a'] })).start();
    const choices = Array.from({ length: 20_000 }, (_, index) => `${index * 7919}`);
    const refused = compiler.compile({ kind: 'choice', choices });
    await expect(refused).rejects.toMatchObject({ code: 'constraint', details: { limit: 'memory', memoryMiB: 20 } });
    expect(idsOf(await texts.nextMask([]))).toEqual(bytes('a'));
    texts.dispose();
  });

  it('a constraint that is too long is refused before anything is done with it', async () => {
    const compiler = open({ limits: { sourceLength: 100 } });
    const refused = compiler.compile({ kind: 'choice', choices: ['a'.repeat(100)] });
    await expect(refused).rejects.toMatchObject({ code: 'constraint', details: { limit: 'sourceLength' } });
  });
});

describe('compile', () => {
  it('keeps compiled constraints, also while they are compiled, but not failures', async () => {
    const compiler = open({ numThreads: 1, limits: { numCached: 2 } });
    const source = (text: string): ConstraintSource => ({ kind: 'choice', choices: [text] });
    const [one, same] = await Promise.all([compiler.compile(source('a')), compiler.compile(source('a'))]);
    expect(same).toBe(one);
    await compiler.compile(source('b'));
    expect(await compiler.compile(source('a'))).toBe(one);
    await compiler.compile(source('c'));
    expect(await compiler.compile(source('a'))).toBe(one);
    await compiler.compile(source('b'));
    await compiler.compile(source('c'));
    expect(await compiler.compile(source('a'))).not.toBe(one);
    // What is no longer kept goes on working.
    const matcher = one.start();
    expect(idsOf(await matcher.nextMask([]))).toEqual(bytes('a'));
    matcher.dispose();
    const wrong: ConstraintSource = { kind: 'grammar', grammar: 'root ::= x' };
    await expect(compiler.compile(wrong)).rejects.toMatchObject({ code: 'constraint' });
    await expect(compiler.compile(wrong)).rejects.toMatchObject({ code: 'constraint' });
  });

  it('an abort ends the wait of its caller only', async () => {
    const compiler = open({ numThreads: 1 });
    const source: ConstraintSource = { kind: 'json' };
    const controller = new AbortController();
    const aborted = compiler.compile(source, { signal: controller.signal });
    const other = compiler.compile(source);
    controller.abort();
    await expect(aborted).rejects.toMatchObject({ code: 'aborted' });
    await expect(compiler.compile(source, { signal: controller.signal })).rejects.toMatchObject({ code: 'aborted' });
    expect(idsOf(await (await other).start().nextMask([]))).toContain(0x7b);
  });

  it('works in several threads at once', async () => {
    const compiler = open({ numThreads: 2 });
    const texts = ['a', 'b', 'c', 'd'];
    const constraints = await Promise.all(texts.map((text) => compiler.compile({ kind: 'choice', choices: [text] })));
    const matchers = constraints.map((constraint) => constraint.start());
    const masks = await Promise.all(matchers.map((matcher) => matcher.nextMask([])));
    expect(masks.map((mask) => idsOf(mask))).toEqual(texts.map(bytes));
    const ends = await Promise.all(matchers.map((matcher, index) => matcher.nextMask(bytes(texts[index]!))));
    expect(ends.map((mask) => idsOf(mask))).toEqual(texts.map(() => [end]));
    for (const matcher of matchers) matcher.dispose();
  });

  it.each([
    ['kind', { kind: 'regex' }],
    ['kind', null],
    ['schema', { kind: 'json-schema', schema: 'x' }],
    ['grammar', { kind: 'grammar' }],
    ['choices', { kind: 'choice', choices: [] }],
    ['choices[1]', { kind: 'choice', choices: ['a', 3] }],
    ['choices[0]', { kind: 'choice', choices: ['\ud800'] }],
    ['triggers', { kind: 'tags', triggers: 'x', tags: [] }],
    ['tags[0].end', { kind: 'tags', triggers: ['x'], tags: [{ begin: 'x', schema: true }] }],
    ['atLeastOne', { kind: 'tags', triggers: ['x'], tags: [{ begin: 'x', schema: true, end: '' }], atLeastOne: 1 }],
  ])('refuses a source of a wrong shape: %s', async (field, source) => {
    const refused = open().compile(source as ConstraintSource);
    await expect(refused).rejects.toMatchObject({ code: 'invalid_argument', details: { field } });
  });

  it('rejects after dispose, and what is open then', async () => {
    const compiler = open();
    const running = compiler.compile({ kind: 'json' });
    const matcher = running.then((constraint) => constraint.start().nextMask([]));
    await Promise.all([compiler.dispose(), expect(matcher).rejects.toMatchObject({ code: 'disposed' })]);
    await expect(compiler.compile({ kind: 'json' })).rejects.toMatchObject({ code: 'disposed' });
    await expect(compiler.warmUp()).rejects.toMatchObject({ code: 'disposed' });
  });
});

describe('createConstraintCompiler', () => {
  it.each([
    ['without end tokens', { ...vocabulary, eosTokenIds: [] }, {}],
    ['with an end token outside the vocabulary', vocabulary, { endTokenIds: [vocabulary.vocabSize] }],
    ['with fewer rows than tokens', vocabulary, { vocabSize: 10 }],
    ['without threads', vocabulary, { numThreads: 0 }],
    ['with a limit of nothing', vocabulary, { limits: { compileTimeMs: 0 } }],
    ['with an unknown limit', vocabulary, { limits: { time: 3 } as object }],
  ])('refuses to work %s', (_, words, options) => {
    expect(() => createConstraintCompiler(words, options)).toThrow(
      expect.objectContaining({ code: 'invalid_argument' }),
    );
  });

  it('takes other end tokens, and rows of the model beyond the tokenizer', async () => {
    const newline = 0x0a;
    const compiler = open({ endTokenIds: [newline, end], vocabSize: vocabulary.vocabSize + 100 });
    await compiler.warmUp();
    const matcher = (await compiler.compile({ kind: 'choice', choices: ['a', 'a\n'] })).start();
    const mask = await matcher.nextMask(bytes('a'));
    expect(mask).toHaveLength(Math.ceil((vocabulary.vocabSize + 100) / 32));
    expect(idsOf(mask)).toEqual([newline, end]);
    matcher.dispose();
  });
});
