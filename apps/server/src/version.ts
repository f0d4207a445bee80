import { packageVersion } from '@hearth/command-line';

/** The version of this package. */
export function serverVersion(): string {
  return packageVersion(import.meta.url);
}
