import type { HubOptions } from '../settings.ts';

/**
 * Options that reach nothing of the machine the test runs on: no home directory, no pip files, no proxies, short waits.
 * Nothing listens on port 2, so a forgotten address fails at once.
 */
export function isolatedOptions(directory: string, rest: HubOptions = {}): HubOptions {
  return {
    cacheDirectory: `${directory}/cache`,
    workingDirectory: directory,
    retry: { attempts: 3, baseDelayMs: 1 },
    ...rest,
    env: {
      HOME: directory,
      USERPROFILE: directory,
      PIP_CONFIG_FILE: '/dev/null',
      PIP_INDEX_URL: 'http://127.0.0.1:2/simple',
      HF_ENDPOINT: 'http://127.0.0.1:2',
      ...rest.env,
    },
  };
}
