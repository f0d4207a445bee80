/** Opens every model named on the command line and prints what became of it as JSON lines. Run under a memory limit by memory-limit.test.ts. */
import { HearthError } from '@hearth/core';
import { openCheckpoint } from '../index.ts';

for (const path of process.argv.slice(2)) {
  const result = await openCheckpoint(path).then(
    async (checkpoint) => {
      await checkpoint.close();
      return { code: 'opened', message: '' };
    },
    (error: unknown) => ({ code: HearthError.isInstance(error) ? error.code : 'untyped', message: String(error) }),
  );
  console.log(JSON.stringify(result));
}
