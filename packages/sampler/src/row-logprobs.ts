import { selectCandidates } from './candidates/select-candidates.ts';
import { logNormalizer, logProbability } from './log-probabilities.ts';
import { requireFinite } from './require-finite.ts';
import { type Workspace, withWorkspace } from './workspace.ts';

/** Log-probabilities are natural logarithms, f32, of the model's own distribution: before bias, penalties, mask and temperature. */
export interface TokenLogprob {
  readonly tokenId: number;
  readonly logprob: number;
}

/** What a row of logits says of one token, and of the best ones. */
export interface RowLogprobs {
  readonly logprob: number;
  /** Best first: logprob descending, then id ascending. They need not hold the token. */
  readonly topLogprobs: readonly TokenLogprob[];
}

/**
 * The log-probability of a token that is there already, and those of the `numTop` best: what `sample` would say of it, had it
 * chosen it. For scoring a text.
 *
 * @param logits [vocabSize]; never changed
 * @param tokenId one of the row
 * @throws NumericError when a logit is NaN or infinite
 */
export function rowLogprobs(logits: Float32Array, tokenId: number, numTop: number): RowLogprobs {
  requireFinite(logits);
  return withWorkspace((workspace) => rowLogprobsWith(workspace, logits, tokenId, numTop));
}

/** As `rowLogprobs`, for a row that is known to be finite, in buffers that are there. */
export function rowLogprobsWith(
  { candidates, selection }: Workspace,
  logits: Float32Array,
  tokenId: number,
  numTop: number,
): RowLogprobs {
  const normalizer = logNormalizer(logits);
  const topLogprobs: TokenLogprob[] = [];
  if (numTop > 0) {
    const limit = Math.min(numTop, logits.length);
    selectCandidates(logits, { limit, floor: Number.NEGATIVE_INFINITY }, candidates, selection);
    for (let i = 0; i < candidates.length; i++) {
      topLogprobs.push({
        tokenId: candidates.tokenIds[i]!,
        logprob: logProbability(candidates.logits[i]!, normalizer),
      });
    }
  }
  return { logprob: logProbability(logits[tokenId]!, normalizer), topLogprobs };
}
