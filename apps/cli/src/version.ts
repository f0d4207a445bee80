import { packageVersion } from '@hearth/command-line';

/** The version of this package. */
export function cliVersion(): string {
  return packageVersion(import.meta.url);
}
