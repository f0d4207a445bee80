import { readFile, stat } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expandHome, type Surroundings } from './cache-directory.ts';
import { isSwitchedOn } from './settings.ts';

/** What pip would use to find a package here. */
export interface PipConfiguration {
  /** Simple-repository addresses in the order pip lists them; may carry credentials: show them through `redactUrl` only. */
  indexUrls: string[];
  /** Further places: directories, or pages with links. */
  findLinks: string[];
  /** PEM file with the certificate authorities of the index, if pip was given one. */
  certificateFile: string | undefined;
}

const DEFAULT_INDEX = 'https://pypi.org/simple';

/** Sections that count for `pip download`, in the order in which they override each other. */
const SECTIONS = ['global', 'install', 'download'];

/**
 * Reads pip's configuration the way pip does, without pip or Python: files (global, user, site, then `PIP_CONFIG_FILE`;
 * later ones win key by key), then `PIP_*` variables. `PIP_CONFIG_FILE` set to the null device switches all files off.
 * Source: pip's user guide, "Configuration".
 */
export async function readPipConfiguration(surroundings: Surroundings): Promise<PipConfiguration> {
  const values = new Map<string, string>();
  const files = await Promise.all(
    (await configFiles(surroundings)).map((file) => readFile(file, 'utf8').catch(() => '')),
  );
  const parsed = files.map(parseIni);
  for (const section of SECTIONS) {
    for (const file of parsed) {
      for (const [key, value] of file.get(section) ?? []) values.set(key, value);
    }
  }
  for (const [name, value] of Object.entries(surroundings.env)) {
    // pip passes over empty variables.
    if (name.startsWith('PIP_') && value) values.set(normalizeKey(name.slice('PIP_'.length)), value);
  }

  const indexes = [
    values.get('index-url') ?? values.get('pypi-url') ?? DEFAULT_INDEX,
    ...words(values.get('extra-index-url')),
  ];
  const { env } = surroundings;
  // The variables are those of the HTTP library inside pip.
  const certificateFile =
    values.get('cert') || env.REQUESTS_CA_BUNDLE || env.CURL_CA_BUNDLE || env.SSL_CERT_FILE || undefined;
  return {
    indexUrls: isSwitchedOn(values.get('no-index')) ? [] : indexes.map((url) => url.trim()),
    findLinks: words(values.get('find-links')),
    certificateFile: certificateFile && expandHome(certificateFile, surroundings),
  };
}

/** Files in rising order of precedence. Missing ones are simply not read. */
async function configFiles(surroundings: Surroundings): Promise<string[]> {
  const { env, platform, homeDirectory } = surroundings;
  const named = env.PIP_CONFIG_FILE;
  if (named === os.devNull || named === '/dev/null') return [];
  const paths = platform === 'win32' ? path.win32 : path.posix;
  const baseName = platform === 'win32' ? 'pip.ini' : 'pip.conf';

  const global: string[] = [];
  const user: string[] = [];
  if (platform === 'win32') {
    global.push(paths.join(env.ProgramData || env.PROGRAMDATA || 'C:\\ProgramData', 'pip', baseName));
    user.push(paths.join(homeDirectory, 'pip', baseName));
    user.push(paths.join(env.APPDATA || paths.join(homeDirectory, 'AppData', 'Roaming'), 'pip', baseName));
  } else {
    const userConfig = paths.join(env.XDG_CONFIG_HOME || paths.join(homeDirectory, '.config'), 'pip', baseName);
    user.push(paths.join(homeDirectory, '.pip', baseName));
    if (platform === 'darwin') {
      global.push(paths.join('/Library', 'Application Support', 'pip', baseName));
      const support = paths.join(homeDirectory, 'Library', 'Application Support', 'pip');
      user.push((await isDirectory(support)) ? paths.join(support, baseName) : userConfig);
    } else {
      const shared = (env.XDG_CONFIG_DIRS || '/etc/xdg').split(':').filter((directory) => directory !== '');
      global.push(...shared.map((directory) => paths.join(directory, 'pip', baseName)), '/etc/pip.conf');
      user.push(userConfig);
    }
  }
  const environments = [env.CONDA_PREFIX, env.VIRTUAL_ENV].filter((prefix) => prefix !== undefined && prefix !== '');
  const site = environments.map((prefix) => paths.join(prefix as string, baseName));
  return [...global, ...user, ...site, ...(named ? [expandHome(named, surroundings)] : [])];
}

/**
 * The subset of INI that Python's RawConfigParser reads: sections, `key = value` or `key: value`, whole-line comments with
 * `#` or `;`, and indented lines that continue a value.
 */
export function parseIni(text: string): Map<string, Map<string, string>> {
  const sections = new Map<string, Map<string, string>>();
  let section: Map<string, string> | undefined;
  let key: string | undefined;
  for (const line of text.replace(/^\uFEFF/, '').split(/\r?\n/)) {
    const trimmed = line.trim();
    if (trimmed === '' || trimmed.startsWith('#') || trimmed.startsWith(';')) continue;
    if (/^\s/.test(line) && section && key !== undefined) {
      section.set(key, `${section.get(key) ?? ''}\n${trimmed}`.trim());
      continue;
    }
    const header = /^\[([^\]]+)\]/.exec(trimmed);
    if (header) {
      const name = header[1]!;
      section = sections.get(name) ?? new Map();
      sections.set(name, section);
      key = undefined;
      continue;
    }
    const pair = /^([^=:]+?)\s*[=:]\s*(.*)$/.exec(trimmed);
    if (!pair || !section) continue;
    key = normalizeKey(pair[1]!);
    section.set(key, pair[2]!);
  }
  return sections;
}

/** `--Extra_Index_Url` and `extra-index-url` are one option to pip. */
function normalizeKey(name: string): string {
  return name.trim().toLowerCase().replaceAll('_', '-').replace(/^--/, '');
}

function words(value: string | undefined): string[] {
  return (value ?? '').split(/\s+/).filter((word) => word !== '');
}

function isDirectory(name: string): Promise<boolean> {
  return stat(name).then(
    (status) => status.isDirectory(),
    () => false,
  );
}
