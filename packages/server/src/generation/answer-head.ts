import type { ServedModel } from '../models/served-model.ts';
import { createAnswerId, secondsNow, systemFingerprint } from './answer-id.ts';

/** What all parts of one answer have in common. */
export interface AnswerHead {
  readonly id: string;
  /** Seconds since 1970. */
  readonly created: number;
  /** The name of the model, whatever alias was asked for. */
  readonly model: string;
  readonly fingerprint: string;
}

/** @param prefix of the id, such as `chatcmpl-` */
export function createAnswerHead(served: ServedModel, prefix: string): AnswerHead {
  return {
    id: createAnswerId(prefix),
    created: secondsNow(),
    model: served.name,
    fingerprint: systemFingerprint(served),
  };
}
