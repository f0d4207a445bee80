import type { MappedFile } from '@hearth/core';

/** Closes every file, also when closing one of them fails; then throws the first failure. */
export async function closeAll(files: readonly MappedFile[]): Promise<void> {
  const results = await Promise.allSettled(files.map((file) => file.close()));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}
