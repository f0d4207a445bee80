import { parseLosslessJson, plainJson } from '@hearth/chat-format';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { samplingFields, samplingOptions } from './sampling-fields.ts';

const schema = z.object(samplingFields);

function optionsOf(body: string) {
  return samplingOptions(schema.parse(JSON.parse(body)));
}

function issuesOf(body: string): string[] {
  const { error } = schema.safeParse(JSON.parse(body));
  return error!.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
}

describe('temperature', () => {
  it.each([0, 5e-324, 1e-4, 3])('of %f is as it came (B32)', (temperature) => {
    expect(optionsOf(JSON.stringify({ temperature })).temperature).toBe(temperature);
  });

  it('is no more than float32 holds', () => {
    expect(Math.fround(optionsOf('{"temperature": 1e308}').temperature!)).toBeLessThan(Number.POSITIVE_INFINITY);
  });

  it.each(['-1', '"1"', '1e999', 'true'])('of %s is refused', (temperature) => {
    expect(issuesOf(`{"temperature": ${temperature}}`)).toEqual(['temperature: must be a number from 0']);
  });

  it('that is null is absent', () => {
    expect(optionsOf('{"temperature": null}').temperature).toBeUndefined();
  });
});

describe('seed', () => {
  it.each(['0', '-1', '9007199254740992', '9007199254740993', '1152921504606847000', '-9223372036854775808'])(
    'of %s is that very number (B33)',
    (text) => {
      const seed = plainJson(parseLosslessJson(text));
      expect(samplingOptions(schema.parse({ seed })).seed).toBe(BigInt(text));
    },
  );

  it.each(['9223372036854775808', '1e300', '0.5', '"5"', 'true'])('of %s is refused', (text) => {
    const { error } = schema.safeParse({ seed: plainJson(parseLosslessJson(text)) });
    expect(error!.issues).toMatchObject([{ message: expect.stringContaining('64 bits') }]);
  });
});

describe('logit_bias', () => {
  it('maps ids to numbers', () => {
    expect(optionsOf('{"logit_bias": {"5": -100, "7": 0.5}}').logitBias).toEqual({ 5: -100, 7: 0.5 });
  });

  it('is refused once, with all its wrong keys (B34)', () => {
    const biases = '{"5": 1, "1.5": 1, "-1": 1, "abc": 1, "6": 101, "7": "8", "__proto__": 5}';
    expect(issuesOf(`{"logit_bias": ${biases}}`)).toEqual([
      'logit_bias: must map token ids to numbers from -100 to 100; wrong: "6", "7", "1.5", "-1", "abc", "__proto__"',
    ]);
  });

  it.each(['[]', '"5"', '5', 'true'])('of %s is refused', (biases) => {
    expect(issuesOf(`{"logit_bias": ${biases}}`)).toEqual(['logit_bias: must be an object of token ids and numbers']);
  });
});

describe('stop', () => {
  it('is a text or several, of which empty ones count for nothing', () => {
    expect(optionsOf('{"stop": "a"}').stop).toEqual(['a']);
    expect(optionsOf('{"stop": ["a", "", "b"]}').stop).toEqual(['a', 'b']);
    expect(optionsOf('{"stop": ""}').stop).toEqual([]);
  });
});
