import { afterAll, describe, expect, it } from 'vitest';
import { byteVocabulary } from './__fixtures__/byte-vocabulary.ts';
import { idsOf } from './__fixtures__/walk.ts';
import { createConstraintCompiler } from './constraint-compiler.ts';

const { vocabulary, end, control, hole } = byteVocabulary();
const compiler = createConstraintCompiler(vocabulary, { numThreads: 1 });
afterAll(() => compiler.dispose());

const bytes = (text: string) => [...new TextEncoder().encode(text)];
const start = async (grammar: string) => (await compiler.compile({ kind: 'grammar', grammar })).start();

describe('a matcher', () => {
  it('gives the mask of the tokens so far, however many come at once', async () => {
    const one = await start('root ::= "abc" [0-9]');
    const other = await start('root ::= "abc" [0-9]');
    for (const text of ['', 'a', 'ab', 'abc', 'abc7']) {
      const mask = await one.nextMask(bytes(text));
      if (text.length % 2 === 0) expect(await other.nextMask(bytes(text))).toEqual(mask);
    }
    expect(one.isComplete).toBe(true);
    expect(other.isComplete).toBe(true);
    one.dispose();
    other.dispose();
  });

  it('gives the same mask again for the same tokens, and bits past the vocabulary are none', async () => {
    const matcher = await start('root ::= [ab]*');
    const mask = await matcher.nextMask([]);
    expect(mask).toHaveLength(Math.ceil(vocabulary.vocabSize / 32));
    expect(idsOf(mask)).toEqual([...bytes('ab'), end]);
    expect(await matcher.nextMask([])).toEqual(mask);
    matcher.dispose();
  });

  it('gives masks after guesses as it does after tokens, and forgets the guesses', async () => {
    const guessing = await start('root ::= "a" [b-d] "é" "x"?');
    const plain = await start('root ::= "a" [b-d] "é" "x"?');
    const guesses = bytes('acéx');
    const masks = await guessing.nextMasks([], guesses);
    expect(masks).toHaveLength(6);
    for (const [index, mask] of masks.entries()) {
      expect(await plain.nextMask(guesses.slice(0, index))).toEqual(mask);
    }
    expect(await guessing.nextMasks(bytes('ab'), bytes('é'))).toHaveLength(3);
    // Up to the first guess that is not allowed, or that ends the text.
    expect(await guessing.nextMasks(bytes('ab'), bytes('xé'))).toHaveLength(1);
    expect(await guessing.nextMasks(bytes('abé'), [end, end])).toHaveLength(1);
    expect(await guessing.nextMasks(bytes('abé'), [-1])).toHaveLength(1);
    expect(guessing.isComplete).toBe(true);
    guessing.dispose();
    plain.dispose();
  });

  it.each([
    ['of another text', bytes('b')],
    ['that is a control token', [control]],
    ['without a text', [hole]],
    ['outside the vocabulary', [vocabulary.vocabSize]],
    ['that is no number', [Number.NaN]],
    ['that ends the text too soon', [end]],
  ])('fails for a token %s, and from then on', async (_, tokenIds) => {
    const matcher = await start('root ::= "a"');
    const failure = { code: 'constraint', details: { position: 0 } };
    await expect(matcher.nextMask(tokenIds)).rejects.toMatchObject(failure);
    await expect(matcher.nextMask([])).rejects.toMatchObject(failure);
    expect(matcher.isComplete).toBe(false);
    matcher.dispose();
  });

  it('allows nothing after the end', async () => {
    const matcher = await start('root ::= "a"');
    expect(idsOf(await matcher.nextMask(bytes('a')))).toEqual([end]);
    await expect(matcher.nextMask([...bytes('a'), end])).rejects.toThrow(/over/);
    matcher.dispose();
  });

  it('is refused other tokens than before, and two questions at once', async () => {
    const matcher = await start('root ::= [ab]*');
    await matcher.nextMask(bytes('ab'));
    await expect(matcher.nextMask(bytes('bb'))).rejects.toMatchObject({ code: 'invalid_argument' });
    await expect(matcher.nextMask(bytes('a'))).rejects.toMatchObject({ code: 'invalid_argument' });
    const first = matcher.nextMask(bytes('aba'));
    await expect(matcher.nextMask(bytes('aba'))).rejects.toMatchObject({ code: 'invalid_argument' });
    expect(idsOf(await first)).toContain(end);
    matcher.dispose();
  });

  it('may be disposed twice, and gives no mask afterwards', async () => {
    const matcher = await start('root ::= "a"');
    matcher.dispose();
    matcher.dispose();
    await expect(matcher.nextMask([])).rejects.toMatchObject({ code: 'disposed' });
  });

  it('goes on when the thread has let go of it, because there are too many', async () => {
    const constraint = await compiler.compile({ kind: 'grammar', grammar: 'root ::= "abc"' });
    const first = constraint.start();
    await first.nextMask(bytes('a'));
    const others = Array.from({ length: 300 }, () => constraint.start());
    for (const other of others) await other.nextMask([]);
    expect(idsOf(await first.nextMask(bytes('ab')))).toEqual(bytes('c'));
    for (const matcher of [first, ...others]) matcher.dispose();
  });
});
