import { readFileSync } from 'node:fs';

/** The version of this package. Its manifest lies one folder above both the sources and the build. */
export function serverVersion(): string {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };
  return manifest.version;
}
