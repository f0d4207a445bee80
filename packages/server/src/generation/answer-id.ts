import { randomBytes } from 'node:crypto';
import type { ServedModel } from '../models/served-model.ts';

/** A new id with the prefix of its kind: `chatcmpl-`, `cmpl-`, `resp_`. */
export function createAnswerId(prefix: string): string {
  return prefix + randomBytes(15).toString('hex');
}

/** Seconds since 1970, as OpenAI counts time. */
export function secondsNow(): number {
  return Math.floor(Date.now() / 1000);
}

/** Tells answers of this very model from others: with the same fingerprint and seed comes the same text. */
export function systemFingerprint({ model }: ServedModel): string {
  return `hearth-${model.info.fingerprint.slice(0, 12)}`;
}
