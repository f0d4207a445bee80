import type { Model, OpProfile, RooflineCeilings } from '@hearth/engine';
import { profileRows, profileTable, profileTotal } from '../profile/profile-table.ts';
import { measureProfile, type RunOptions } from './measure-speed.ts';

/** Positions of the deep context, where the model has as many. */
const deepContext = 1500;

/** The ops of one phase, at one context. */
export interface PhaseProfile {
  readonly phase: 'prefill' | 'decode';
  readonly context: number;
  readonly tokens: number;
  readonly profile: readonly OpProfile[];
}

export interface RooflinePlan {
  readonly promptTokens: number;
  readonly generateTokens: number;
  readonly rounds: number;
}

/** Profiles of a prefill, of decode from nothing, and of decode in a deep context. */
export async function measurePhases(model: Model, plan: RooflinePlan, options: RunOptions): Promise<PhaseProfile[]> {
  const { promptTokens, generateTokens, rounds } = plan;
  const context = Math.min(deepContext, model.info.contextLength - generateTokens - 1);
  let done = 0;
  const measure = (promptTokens: number, generateTokens: number) =>
    measureProfile(
      model,
      { promptTokens, generateTokens, rounds },
      { ...options, onRound: () => options.onRound?.(++done, 3 * rounds) },
    );
  const prefill = await measure(promptTokens, 0);
  const shallow = await measure(1, generateTokens);
  const deep = await measure(context, generateTokens);
  return [
    { phase: 'prefill', context: 0, tokens: promptTokens, profile: prefill.prefill },
    { phase: 'decode', context: 0, tokens: generateTokens, profile: shallow.decode },
    { phase: 'decode', context, tokens: generateTokens, profile: deep.decode },
  ];
}

export function phaseTable({ phase, context, tokens, profile }: PhaseProfile, ceilings: RooflineCeilings): string {
  const title = `${phase} of ${tokens} tokens at ${context} of context`;
  return `${title}\n${profileTable(profile, { by: 'operators', ceilings })}`;
}

/** The two figures that matter most, in a line: what decode makes of the bandwidth, and prefill's products of the peak. */
export function rooflineSummary(phases: readonly PhaseProfile[], ceilings: RooflineCeilings): string {
  const decode = phases
    .filter(({ phase }) => phase === 'decode')
    .map(({ context, profile }) => {
      const { work, nanoseconds } = profileTotal(profile);
      const share = (1e9 * (work.weightBytes + work.cacheBytes)) / nanoseconds / ceilings.memoryBytes;
      return `${percent(share)} at ${context} of context`;
    });
  const products = phases
    .filter(({ phase }) => phase === 'prefill')
    .flatMap(({ profile }) => profileRows(profile, 'operators'))
    .filter(({ kind }) => kind === 'linear' || kind === 'moe-mlp');
  const seconds = products.reduce((sum, { nanoseconds }) => sum + nanoseconds / 1e9, 0);
  const operations = (type: 'integerOps' | 'floatOps') => products.reduce((sum, { work }) => sum + work[type], 0);
  // Of a model with both, the kind that most of the work is.
  const type = operations('integerOps') >= operations('floatOps') ? 'integerOps' : 'floatOps';
  const peak = type === 'integerOps' ? 'integer' : 'f32 multiply-add';
  const share = operations(type) / seconds / ceilings[type];
  return `Decode uses ${decode.join(', ')} of the memory bandwidth; products of prefill ${percent(share)} of the ${peak} peak.`;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(0)}%`;
}
