import type { Model, OpProfile, RooflineCeilings } from '@hearth/engine';
import type { MachineProbe } from '@hearth/kernels';
import { quickCeilings } from '../profile/ceilings.ts';
import { profileTable, profileTotal, rooflineOf } from '../profile/profile-table.ts';
import { generate, type RunOptions, type SpeedPlan } from './measure-speed.ts';

/** Positions of the deep context, where the model has as many. */
const deepContext = 1500;

/** The ops of one phase, at one context. */
export interface PhaseProfile {
  readonly phase: 'prefill' | 'decode';
  readonly context: number;
  readonly tokens: number;
  /** Of one round. */
  readonly profile: readonly OpProfile[];
  /** Measured just before it: machines have slow minutes, in which these are lower too. */
  readonly ceilings: RooflineCeilings;
}

/** Profiles of a prefill, of decode from nothing, and of decode in a deep context. */
export async function measurePhases(
  model: Model,
  probe: MachineProbe,
  plan: SpeedPlan,
  options: RunOptions,
): Promise<PhaseProfile[]> {
  const { promptTokens, generateTokens, rounds } = plan;
  const context = Math.min(deepContext, model.info.contextLength - generateTokens - 1);
  let done = 0;
  const measure = (phase: PhaseProfile['phase'], numPrompt: number, numGenerated: number) => {
    const onRound = () => options.onRound?.(++done, 3 * rounds);
    const sizes = { promptTokens: numPrompt, generateTokens: numGenerated, rounds };
    return measureRounds(model, probe, phase, sizes, { ...options, onRound });
  };
  const prefill = await measure('prefill', promptTokens, 0);
  const shallow = await measure('decode', 1, generateTokens);
  const deep = await measure('decode', context, generateTokens);
  return [
    { phase: 'prefill', context: 0, tokens: promptTokens, ...prefill },
    { phase: 'decode', context: 0, tokens: generateTokens, ...shallow },
    { phase: 'decode', context, tokens: generateTokens, ...deep },
  ];
}

/** The round that is in the middle by its share of the roofline. */
async function measureRounds(
  model: Model,
  probe: MachineProbe,
  phase: PhaseProfile['phase'],
  { promptTokens, generateTokens, rounds }: SpeedPlan,
  { signal, onRound }: RunOptions,
): Promise<Pick<PhaseProfile, 'profile' | 'ceilings'>> {
  const all: (Pick<PhaseProfile, 'profile' | 'ceilings'> & { readonly share: number })[] = [];
  for (let round = 1; round <= rounds; round++) {
    const ceilings = await quickCeilings(probe, signal);
    const result = await generate(model, { promptTokens, generateTokens, profile: true }, { signal });
    const profile = result.profile![phase];
    all.push({ profile, ceilings, share: rooflineOf(profileTotal(profile), ceilings)?.share ?? 0 });
    onRound?.(round, rounds);
  }
  const { profile, ceilings } = all.sort((a, b) => a.share - b.share)[rounds >> 1]!;
  return { profile, ceilings };
}

export function phaseTable({ phase, context, tokens, profile, ceilings }: PhaseProfile): string {
  const { memoryBytes, cacheBytes, integerOps, floatOps } = ceilings;
  const [memory, cache, integer, float] = [memoryBytes, cacheBytes, integerOps, floatOps].map((rate) =>
    (rate / 1e9).toFixed(1),
  );
  return [
    `${phase} of ${tokens} tokens at ${context} of context`,
    `(ceilings beside it: memory ${memory} GB/s, L2 ${cache} GB/s, integer ${integer} GOP/s, f32 ${float} GOP/s)`,
    profileTable(profile, { by: 'operators', ceilings }),
  ].join('\n');
}

/** The two figures that matter most, in a line: what decode makes of the bandwidth, and prefill's products of the peak. */
export function rooflineSummary(phases: readonly PhaseProfile[]): string {
  const decode = phases
    .filter(({ phase }) => phase === 'decode')
    .map(({ context, profile, ceilings }) => {
      const { work, nanoseconds } = profileTotal(profile);
      const share = (1e9 * (work.weightBytes + work.cacheBytes)) / nanoseconds / ceilings.memoryBytes;
      return `${percent(share)} at ${context} of context`;
    });
  const prefill = phases.find(({ phase }) => phase === 'prefill')!;
  const isProduct = ({ kind }: OpProfile) => kind === 'linear' || kind === 'moe-mlp';
  const { work, nanoseconds } = profileTotal(prefill.profile.filter(isProduct));
  // Of a model with both, the kind that most of the work is.
  const type = work.integerOps >= work.floatOps ? 'integerOps' : 'floatOps';
  const peak = type === 'integerOps' ? 'integer' : 'f32 multiply-add';
  const share = (1e9 * work[type]) / nanoseconds / prefill.ceilings[type];
  return `Decode uses ${decode.join(', ')} of the memory bandwidth; products of prefill ${percent(share)} of the ${peak} peak.`;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(0)}%`;
}
