/** A setting of how tokens are chosen, as the server names it. */
export interface SamplingField {
  readonly name: string;
  readonly label: string;
  readonly hint: string;
  readonly min: number;
  readonly max: number;
  readonly step: number;
}

export const samplingFields: readonly SamplingField[] = [
  { name: 'temperature', label: 'Temperature', hint: '0 always takes the likeliest token', min: 0, max: 5, step: 0.05 },
  {
    name: 'top_p',
    label: 'Top p',
    hint: 'Keep the likeliest tokens up to this probability',
    min: 0,
    max: 1,
    step: 0.01,
  },
  { name: 'top_k', label: 'Top k', hint: 'Keep this many of the likeliest tokens', min: 0, max: 1000, step: 1 },
  { name: 'min_p', label: 'Min p', hint: 'Drop tokens below this part of the likeliest', min: 0, max: 1, step: 0.01 },
  {
    name: 'repetition_penalty',
    label: 'Repetition penalty',
    hint: 'Above 1, what was said becomes less likely',
    min: 0.5,
    max: 2,
    step: 0.01,
  },
  { name: 'max_tokens', label: 'Longest answer', hint: 'In tokens', min: 1, max: 100_000, step: 1 },
  { name: 'seed', label: 'Seed', hint: 'The same seed gives the same answer', min: 0, max: 2 ** 53 - 1, step: 1 },
];

/** Values by name; those that are not there are left to the server. */
export type Sampling = Readonly<Record<string, number>>;

/** Small models talk nonsense at the server's own temperature of 1. */
export const defaultSampling: Sampling = { temperature: 0.7, top_p: 0.95 };

/** What of a stored value makes sense. */
export function readSampling(value: unknown): Sampling {
  if (typeof value !== 'object' || value === null) return {};
  const given = value as Record<string, unknown>;
  const known = samplingFields.flatMap(({ name, min, max }): [string, number][] => {
    const number = given[name];
    return typeof number === 'number' && number >= min && number <= max ? [[name, number]] : [];
  });
  return Object.fromEntries(known);
}
