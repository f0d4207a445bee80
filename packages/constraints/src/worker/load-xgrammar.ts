import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { LimitExceededError } from '@hearth/core';
import type * as Library from '@mlc-ai/web-xgrammar';
import { ConstraintError } from '../constraint-error.ts';
import { boundedWebAssembly } from './bounded-web-assembly.ts';

/** One instance of the library, with a WebAssembly memory of its own. */
export interface XGrammar {
  readonly library: typeof Library;
  /**
   * Runs what calls the library. An error in its C++ code ends the whole instance; this makes a readable one of it.
   * @throws LibraryError after which the instance must not be used again
   */
  run<T>(call: () => Promise<T>): Promise<T>;
}

/** The library gave up. The message is its own, without the place in its source. */
export class LibraryError extends Error {}

export interface LoadOptions {
  /** File of `@mlc-ai/web-xgrammar`, an UMD module. */
  readonly path: string;
  /** Most memory of the instance, in MiB. */
  readonly memoryMiB: number;
}

/**
 * Loads an instance of the library. It is an UMD file in a package of ES modules, which Node does not load; and evaluating
 * it here gives a new instance each time, with its console (where the reasons of errors go) and its memory in our hands.
 */
export async function loadXGrammar({ path, memoryMiB }: LoadOptions): Promise<XGrammar> {
  const code = await readFile(path, 'utf8');
  const module = { exports: {} };
  let message = '';
  let isOutOfMemory = false;
  const note = (...parts: unknown[]) => {
    message = parts.join(' ').startsWith('[FATAL]') ? parts.join(' ') : message;
  };
  const webAssembly = boundedWebAssembly((numBytes) => {
    isOutOfMemory = numBytes > memoryMiB * 2 ** 20;
    return !isOutOfMemory;
  });
  const evaluate = new Function('module', 'exports', 'require', '__filename', 'console', 'WebAssembly', code);
  const require = createRequire(pathToFileURL(path));
  evaluate(module, module.exports, require, path, { log: note, warn: note, error: note }, webAssembly);

  return {
    library: module.exports as typeof Library,
    async run(call) {
      try {
        return await call();
      } catch (error) {
        if (error instanceof ConstraintError) throw error;
        if (isOutOfMemory) {
          throw new LimitExceededError(`The constraint needs more than the limit of ${memoryMiB} MiB to compile.`, {
            details: { limit: 'memory', memoryMiB },
          });
        }
        const isTooDeep = error instanceof RangeError;
        const reason = isTooDeep ? 'it nests too deep' : message.replace(/^\[FATAL\] \S+: /, '') || String(error);
        throw new LibraryError(reason, { cause: error });
      }
    },
  };
}
