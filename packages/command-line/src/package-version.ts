import { readFileSync } from 'node:fs';

/** The version of a package whose manifest lies one folder above a module of it, as above both sources and build. */
export function packageVersion(moduleUrl: string): string {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', moduleUrl), 'utf8')) as { version: string };
  return manifest.version;
}
