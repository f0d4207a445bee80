/** A piece of a SentencePiece model that takes part in merging. */
export interface ScoredPiece {
  id: number;
  score: number;
}

/**
 * Derives byte-pair merges from the scores of a SentencePiece model, which has none of its own: it always merges the
 * neighbours whose joined piece has the best score.
 *
 * @returns triples (left id, right id, merged id)
 *
 * Every cut of a piece into two known pieces is a merge. They are ordered by the score of the whole, best first, then by
 * its id (Llama 2 gives all runs of blanks one score), then by the ids of the parts: the order of the `tokenizer.json` that
 * was made of Llama 2's model.
 */
export function deriveMerges(pieces: ReadonlyMap<string, ScoredPiece>): Int32Array<ArrayBuffer> {
  const merges: { leftId: number; rightId: number; id: number; score: number }[] = [];
  for (const [piece, { id, score }] of pieces) {
    for (let cut = 1; cut < piece.length; cut++) {
      const left = pieces.get(piece.slice(0, cut));
      if (left === undefined) continue;
      const right = pieces.get(piece.slice(cut));
      if (right === undefined) continue;
      merges.push({ leftId: left.id, rightId: right.id, id, score });
    }
  }
  merges.sort((a, b) => b.score - a.score || a.id - b.id || a.leftId - b.leftId || a.rightId - b.rightId);
  return Int32Array.from(merges.flatMap(({ leftId, rightId, id }) => [leftId, rightId, id]));
}
