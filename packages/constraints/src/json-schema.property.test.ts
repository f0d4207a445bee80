import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { byteVocabulary } from './__fixtures__/byte-vocabulary.ts';
import { schemaSamples } from './__fixtures__/schema-samples.ts';
import { accepts, walk } from './__fixtures__/walk.ts';
import { createConstraintCompiler } from './constraint-compiler.ts';

const { vocabulary, end } = byteVocabulary();
const compiler = createConstraintCompiler(vocabulary);
afterAll(() => compiler.dispose());

const ajv = new Ajv2020({ strict: false });
/** Tokens that lead to the end of a text, the best first. */
const closing = [end, ...Buffer.from('"}]0el1'), ...Array.from({ length: 256 }, (_, byte) => byte)];

describe('a JSON schema', () => {
  it('allows every compact text of a valid value, and no text that is not valid', { timeout: 60_000 }, async () => {
    const choices = fc.infiniteStream(fc.nat());
    await fc.assert(
      fc.asyncProperty(schemaSamples, choices, fc.boolean(), async ({ schema, values }, stream, isBehindRef) => {
        const whole = isBehindRef ? { $ref: '#/$defs/S', $defs: { S: schema } } : schema;
        const validate = ajv.compile(whole);
        for (const value of values) expect(validate(value)).toBe(true);
        const constraint = await compiler.compile({ kind: 'json-schema', schema: whole });
        for (const value of values) {
          const text = JSON.stringify(value);
          expect(await accepts(constraint, text), text).toBe(true);
        }
        let numTokens = 0;
        const choose = (allowed: readonly number[]) =>
          ++numTokens < 40
            ? allowed[stream.next().value! % allowed.length]!
            : closing.find((id) => allowed.includes(id))!;
        const { text, isOver } = await walk(constraint, vocabulary, choose, 400);
        expect(isOver).toBe(true);
        expect(validate(JSON.parse(text)), text).toBe(true);
      }),
      { numRuns: 25 },
    );
  });

  it('allows a change of a valid text only where the result is valid', { timeout: 60_000 }, async () => {
    const changes = fc.array(fc.tuple(fc.nat(), fc.constantFrom('', '0', '"', ',', '}', ']', 'e', '-', 'a', ' ')), {
      minLength: 8,
      maxLength: 8,
    });
    await fc.assert(
      fc.asyncProperty(schemaSamples, changes, async ({ schema, values }, list) => {
        const validate = ajv.compile(schema);
        const constraint = await compiler.compile({ kind: 'json-schema', schema });
        for (const [place, letter] of list) {
          const text = JSON.stringify(values[place % values.length]);
          const at = place % (text.length + 1);
          const changed = text.slice(0, at) + letter + text.slice(at + 1);
          if (await accepts(constraint, changed)) expect(validate(JSON.parse(changed)), changed).toBe(true);
        }
      }),
      { numRuns: 15 },
    );
  });
});
