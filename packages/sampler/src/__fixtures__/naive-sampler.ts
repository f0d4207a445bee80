import { exp32, log32 } from '@hearth/core';
import type { ResolvedSamplingParams } from '../params/sampling-params.ts';
import { uniformDraw } from '../random/uniform-draw.ts';

const fround = Math.fround;
const LARGEST_FLOAT = (2 - 2 ** -23) * 2 ** 127;

interface Entry {
  tokenId: number;
  logit: number;
  scaled: number;
  weight: number;
}

/**
 * The definition of sampling, written for reading: sort everything, walk everything, drop nothing early. The oracle that
 * the real sampler is compared with, token by token. Same parameters, `allowed` in place of the mask.
 */
export function naiveSample(
  logits: ArrayLike<number>,
  params: ResolvedSamplingParams,
  promptTokenIds: readonly number[],
  completionTokenIds: readonly number[],
  allowed: (tokenId: number) => boolean = () => true,
): number {
  const scores = Array.from(logits);
  for (const [tokenId, bias] of params.logitBias) scores[tokenId] = fround(scores[tokenId]! + fround(bias));

  const all = [...promptTokenIds, ...completionTokenIds];
  const recent = params.repetitionWindow === -1 ? all : all.slice(Math.max(0, all.length - params.repetitionWindow));
  const penalty = fround(params.repetitionPenalty);
  for (const tokenId of new Set(recent)) {
    const score = scores[tokenId]!;
    scores[tokenId] = finite(score > 0 ? score / penalty : score * penalty);
  }
  for (const tokenId of new Set(completionTokenIds)) {
    const count = completionTokenIds.filter((id) => id === tokenId).length;
    const lowered = fround(scores[tokenId]! - fround(count * fround(params.frequencyPenalty)));
    scores[tokenId] = finite(lowered - fround(params.presencePenalty));
  }

  let entries: Entry[] = scores
    .map((logit, tokenId) => ({ tokenId, logit, scaled: 0, weight: 0 }))
    .filter(({ tokenId }) => allowed(tokenId))
    .sort((a, b) => b.logit - a.logit || a.tokenId - b.tokenId);
  if (params.temperature < 2 ** -30) return entries[0]!.tokenId;

  if (params.topK > 0) entries = entries.slice(0, params.topK);
  const divisor = Math.min(fround(params.temperature), LARGEST_FLOAT);
  const best = entries[0]!.logit;
  for (const entry of entries) {
    entry.scaled = fround(fround(entry.logit - best) / divisor);
    entry.weight = exp32(entry.scaled);
  }
  if (params.typicalP < 1) entries = mostTypical(entries, fround(params.typicalP));
  if (params.topP < 1) entries = prefixReaching(entries, fround(fround(params.topP) * total(entries)));
  if (params.minP > 0) {
    const least = fround(fround(params.minP) * entries[0]!.weight);
    entries = entries.filter(({ weight }) => weight >= least);
  }

  const u = uniformDraw(params.seed, params.choiceIndex, completionTokenIds.length);
  const drawn = fround(u * total(entries));
  let sum = 0;
  for (const { tokenId, weight } of entries) {
    sum = fround(sum + weight);
    if (sum > drawn) return tokenId;
  }
  throw new Error('No candidate exceeds the drawn value; the definition says that one always does.');
}

function mostTypical(all: readonly Entry[], share: number): Entry[] {
  // The definition: only candidates that raise the running sum take part.
  let running = 0;
  const end = all.findIndex(({ weight }) => {
    const raised = fround(running + weight);
    const isLast = raised === running;
    running = raised;
    return isLast;
  });
  const entries = end === -1 ? [...all] : all.slice(0, end);
  const sum = total(entries);
  const logTotal = log32(sum);
  let entropy = 0;
  for (const { scaled, weight } of entries) {
    entropy = fround(entropy - fround(fround(weight / sum) * fround(scaled - logTotal)));
  }
  const distance = ({ scaled }: Entry) => Math.abs(fround(-fround(scaled - logTotal) - entropy));
  const byDistance = [...entries].sort((a, b) => distance(a) - distance(b) || entries.indexOf(a) - entries.indexOf(b));
  const kept = new Set(prefixReaching(byDistance, fround(share * sum)));
  return entries.filter((entry) => kept.has(entry));
}

function prefixReaching(entries: readonly Entry[], wanted: number): Entry[] {
  let sum = 0;
  const end = entries.findIndex(({ weight }) => {
    sum = fround(sum + weight);
    return sum >= wanted;
  });
  return end === -1 ? [...entries] : entries.slice(0, end + 1);
}

function total(entries: readonly Entry[]): number {
  return entries.reduce((sum, { weight }) => fround(sum + weight), 0);
}

function finite(value: number): number {
  return fround(Math.min(LARGEST_FLOAT, Math.max(-LARGEST_FLOAT, value)));
}
