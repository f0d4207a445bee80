/**
 * Columns of a matrix as rows: `target` [n, rows] is filled with the columns `first` to `first + n` of a matrix
 * [rows, columns], which comes row by row in pieces of any length.
 */
export async function gatherColumns<T extends Float32Array | Uint32Array | Uint16Array>(
  pieces: AsyncIterable<T>,
  [rows, columns]: readonly [number, number],
  first: number,
  target: T,
): Promise<void> {
  const last = first + target.length / rows;
  let row = 0;
  let column = 0;
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; ) {
      // The piece has the columns `column` to `end` of this row.
      const end = Math.min(columns, column + piece.length - at);
      const to = Math.min(end, last);
      for (let i = Math.max(column, first); i < to; i++) target[(i - first) * rows + row] = piece[at + i - column]!;
      at += end - column;
      column = end;
      if (column === columns) {
        column = 0;
        row++;
      }
    }
  }
}
