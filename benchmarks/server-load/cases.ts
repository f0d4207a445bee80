/** One request of the load, whose answer is known. */
export interface LoadCase {
  readonly path: '/v1/chat/completions' | '/v1/completions';
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Answer {
  readonly text: string;
  readonly finishReason: string;
  readonly completionTokens: number;
}

/** Numbers from 0 to 1 that repeat for the same seed: mulberry32. */
export function createRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

const words =
  'the a light house sea storm small old keeper boat night wind far bright rock wave bird song blue cold'.split(' ');

/** Requests of all kinds: short and long prompts, some that begin alike, greedy and drawn, ended by length, stop or model. */
export function createCases(count: number, random: () => number): LoadCase[] {
  const whole = (least: number, most: number) => least + Math.floor(random() * (most - least + 1));
  const pick = <T>(values: readonly T[]): T => values[whole(0, values.length - 1)]!;
  const text = (length: number) => Array.from({ length }, () => pick(words)).join(' ');
  const shared = text(120);
  return Array.from({ length: count }, () => {
    const prompt = pick([text(whole(1, 12)), text(whole(60, 300)), `${shared} ${text(whole(1, 30))}`]);
    const sampling = pick([
      { temperature: 0 },
      { temperature: 0.7, top_p: 0.9 },
      { temperature: 1, top_k: 40, min_p: 0.02 },
      { temperature: 1.2, presence_penalty: 0.5, repetition_penalty: 1.1 },
    ]);
    const body = {
      ...sampling,
      seed: whole(0, 2 ** 31),
      max_tokens: whole(4, 96),
      ...(random() < 0.3 && { ignore_eos: true }),
      ...(random() < 0.3 && { stop: ['\n\n', ' the'] }),
    };
    if (random() < 0.5) return { path: '/v1/completions', body: { ...body, prompt } };
    return { path: '/v1/chat/completions', body: { ...body, messages: [{ role: 'user', content: prompt }] } };
  });
}
