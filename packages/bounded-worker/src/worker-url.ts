/**
 * URL of a worker file that stands beside the calling module: `workerUrl(import.meta.url, 'tokenizer-worker')` is
 * `tokenizer-worker.ts` when the caller runs from its TypeScript source and `tokenizer-worker.js` when it was built.
 * Both the caller and the worker file must lie in the root of `src`, because the bundler flattens chunks into `dist`.
 */
export function workerUrl(moduleUrl: string, name: string): URL {
  return new URL(`./${name}.${isTypeScript(moduleUrl) ? 'ts' : 'js'}`, moduleUrl);
}

/** Whether a module URL names a TypeScript source; bundlers of tests may have added a query. */
export function isTypeScript(url: string): boolean {
  return /\.[mc]?ts(?:[?#]|$)/.test(url);
}
