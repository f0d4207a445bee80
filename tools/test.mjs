// `npm test`: sets the workspace up, fetches the default model, and runs every test. Arguments go to vitest.
// The closing line counts tests, so that a run that tested nothing shows.
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { root, run, runMain, SetupError, setUp } from './setup.mjs';

runMain(() => {
  setUp();
  run(process.execPath, [join(root, 'apps/cli/dist/main.js'), 'pull']);
  const results = join(root, '.cache', 'test-results.json');
  rmSync(results, { force: true });
  let failure;
  try {
    run('pnpm', [
      'exec',
      'vitest',
      'run',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${results}`,
      ...process.argv.slice(2),
    ]);
  } catch (error) {
    failure = error;
  }
  const { numPassedTests, numFailedTests, numPendingTests, numTodoTests, numFailedTestSuites } = readResults(results);
  const failed = numFailedTests === 0 && failure ? Math.max(1, numFailedTestSuites) : numFailedTests;
  const skipped = numPendingTests + numTodoTests;
  console.log(`${numPassedTests} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  if (failed > 0) process.exitCode = 1;
  if (skipped > 0 && process.env.NO_SKIPS) {
    throw new SetupError('Tests were skipped, and NO_SKIPS is set: the model or the kernels are not there.');
  }
  if (numPassedTests === 0) throw new SetupError('No test was run.');
});

function readResults(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    throw new SetupError('The test run ended without results.');
  }
}
