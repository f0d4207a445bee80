import { homedir } from 'node:os';
import { posix, win32 } from 'node:path';

/** The parts of a process's surroundings that decide where things lie. Passed in, so that every platform can be tested on one. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  readonly homeDirectory: string;
}

/**
 * Where what a user makes is kept: `$XDG_DATA_HOME/hearth` or `~/.local/share/hearth`, `~/Library/Application Support/hearth`,
 * `%LOCALAPPDATA%\hearth`. A relative path in the variable is ignored, as the XDG specification wants it.
 */
export function dataDirectory(
  { env, platform, homeDirectory }: Surroundings = {
    env: process.env,
    platform: process.platform,
    homeDirectory: homedir(),
  },
): string {
  if (platform === 'win32') {
    return win32.join(env.LOCALAPPDATA || win32.join(homeDirectory, 'AppData', 'Local'), 'hearth');
  }
  if (platform === 'darwin') return posix.join(homeDirectory, 'Library', 'Application Support', 'hearth');
  const named = env.XDG_DATA_HOME ?? '';
  return posix.join(posix.isAbsolute(named) ? named : posix.join(homeDirectory, '.local', 'share'), 'hearth');
}
