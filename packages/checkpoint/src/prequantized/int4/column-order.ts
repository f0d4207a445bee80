import { InvalidModelError } from '@hearth/core';
import type { CheckpointTensor } from '../../checkpoint.ts';
import { checkMember } from '../module-members.ts';

/**
 * The order that puts the columns of each group side by side, from `g_idx`, which has the group of every column. GPTQ with
 * act-order quantizes columns by the size of their activations and fills group after group, so that the columns of a group
 * come from all over the matrix.
 *
 * @param gIdx i32 [columns]
 * @returns place i holds column `order[i]`; within a group columns ascend. Undefined when that changes nothing
 * @throws InvalidModelError unless every group has exactly its columns
 */
export async function readColumnOrder(
  gIdx: CheckpointTensor,
  {
    columns,
    groupSize,
    numGroups,
  }: { readonly columns: number; readonly groupSize: number; readonly numGroups: number },
): Promise<Uint32Array | undefined> {
  checkMember(gIdx, ['i32'], [[columns]]);
  const bytes = await gIdx.file.read(gIdx.offset, gIdx.byteLength);
  const groups = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const fail = (problem: string): never => {
    throw new InvalidModelError(`${gIdx.file.path}: tensor "${gIdx.name}" ${problem}.`, {
      details: { path: gIdx.file.path, tensor: gIdx.name },
    });
  };
  const order = new Uint32Array(columns);
  const filled = new Uint32Array(numGroups);
  let isInOrder = true;
  for (let column = 0; column < columns; column++) {
    const group = groups.getInt32(4 * column, true);
    if (group < 0 || group >= numGroups) {
      fail(`puts column ${column} into group ${group}, but there are ${numGroups} groups`);
    }
    const start = group * groupSize;
    const size = Math.min(groupSize, columns - start);
    if (filled[group] === size) fail(`puts more than ${size} columns into group ${group}`);
    const place = start + filled[group]++;
    order[place] = column;
    isInOrder &&= place === column;
  }
  // No group has more than its size and the sizes add up to the columns, so none has less.
  return isInOrder ? undefined : order;
}
