import os from 'node:os';
import path from 'node:path';

/** The parts of a process's surroundings that decide where things lie. Passed in, so that every platform can be tested on one. */
export interface Surroundings {
  env: Readonly<Record<string, string | undefined>>;
  platform: NodeJS.Platform;
  homeDirectory: string;
}

/** `env` decides the home directory where it names one, as it does for shells; the account database is the fallback. */
export function surroundingsOf(env: Readonly<Record<string, string | undefined>> = process.env): Surroundings {
  const named = process.platform === 'win32' ? env.USERPROFILE : env.HOME;
  return { env, platform: process.platform, homeDirectory: named || os.homedir() };
}

/**
 * Where Hearth keeps models: `HEARTH_CACHE` if set, else the platform's cache directory
 * (`$XDG_CACHE_HOME/hearth` or `~/.cache/hearth`, `~/Library/Caches/hearth`, `%LOCALAPPDATA%\hearth`).
 */
export function defaultCacheDirectory(surroundings: Surroundings = surroundingsOf()): string {
  const { env, platform, homeDirectory } = surroundings;
  const paths = platform === 'win32' ? path.win32 : path.posix;
  if (env.HEARTH_CACHE) return paths.resolve(expandHome(env.HEARTH_CACHE, surroundings));
  if (platform === 'win32') {
    return paths.join(env.LOCALAPPDATA || paths.join(homeDirectory, 'AppData', 'Local'), 'hearth');
  }
  if (platform === 'darwin') return paths.join(homeDirectory, 'Library', 'Caches', 'hearth');
  return paths.join(xdgDirectory(env.XDG_CACHE_HOME, paths.join(homeDirectory, '.cache')), 'hearth');
}

/**
 * Where huggingface_hub keeps what it downloaded: `HF_HUB_CACHE`, `$HF_HOME/hub`, `$XDG_CACHE_HOME/huggingface/hub`
 * or `~/.cache/huggingface/hub`.
 */
export function huggingFaceCacheDirectory(surroundings: Surroundings): string {
  const { env } = surroundings;
  const named = env.HF_HUB_CACHE || env.HUGGINGFACE_HUB_CACHE;
  return named ? path.resolve(expandHome(named, surroundings)) : path.join(huggingFaceHome(surroundings), 'hub');
}

/** The directory that also holds huggingface_hub's token file. */
export function huggingFaceHome(surroundings: Surroundings): string {
  const { env, homeDirectory } = surroundings;
  if (env.HF_HOME) return path.resolve(expandHome(env.HF_HOME, surroundings));
  return path.join(xdgDirectory(env.XDG_CACHE_HOME, path.join(homeDirectory, '.cache')), 'huggingface');
}

/** `~` and `~/x` become paths under the home directory; `~someone` is left alone. */
export function expandHome(file: string, { platform, homeDirectory }: Surroundings): string {
  if (file === '~') return homeDirectory;
  const paths = platform === 'win32' ? path.win32 : path.posix;
  const separated = file.startsWith('~/') || (platform === 'win32' && file.startsWith('~\\'));
  return separated ? paths.join(homeDirectory, file.slice(2)) : file;
}

/** The XDG base directory specification: a relative path in these variables is to be ignored. */
function xdgDirectory(named: string | undefined, fallback: string): string {
  return named && path.posix.isAbsolute(named) ? named : fallback;
}
