import type { HubOptions } from '../settings.ts';

/**
 * Options that reach nothing of the machine the test runs on: no home directory, no pip files, no proxies, short waits.
 * Nothing listens on port 9 (discard), so a forgotten address fails at once.
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
      PIP_INDEX_URL: 'http://127.0.0.1:9/simple',
      HF_ENDPOINT: 'http://127.0.0.1:9',
      ...rest.env,
    },
  };
}
