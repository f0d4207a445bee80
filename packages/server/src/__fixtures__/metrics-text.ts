export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/**
 * Reads the text format of Prometheus.
 * @throws Error for a sample without HELP and TYPE, and for one that is no finite number
 */
export function parseMetrics(text: string): Sample[] {
  const described = { HELP: new Set<string>(), TYPE: new Set<string>() };
  const samples: Sample[] = [];
  for (const line of text.split('\n').filter((line) => line !== '')) {
    const comment = /^# (HELP|TYPE) (\w+) \S/.exec(line);
    if (comment) {
      described[comment[1] as 'HELP' | 'TYPE'].add(comment[2]!);
      continue;
    }
    const sample = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (!sample) throw new Error(`No line of metrics: ${line}`);
    const [, name = '', labels = '', value] = sample;
    const family = described.TYPE.has(name) ? name : name.replace(/_(bucket|sum|count)$/, '');
    if (!described.HELP.has(family) || !described.TYPE.has(family)) throw new Error(`${name} is not described.`);
    if (!Number.isFinite(Number(value))) throw new Error(`${line} is no finite number.`);
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = '', text = '']) => [key, text]);
    samples.push({ name, labels: Object.fromEntries(pairs), value: Number(value) });
  }
  return samples;
}

/** The value of the sample with these labels, whatever others it has. */
export function sampleValue(samples: readonly Sample[], name: string, labels: Readonly<Record<string, string>> = {}) {
  const matches = (sample: Sample) => Object.entries(labels).every(([key, value]) => sample.labels[key] === value);
  return samples.find((sample) => sample.name === name && matches(sample))?.value;
}
