import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Plugin } from 'vite';

const compressible = /\.(html|js|css|svg)$/;

/** Writes each file of the build compressed beside it, once and well, so that the server has nothing to do. */
export function compressedFiles(): Plugin {
  let directory: string;
  return {
    name: 'compressed-files',
    apply: 'build',
    configResolved: ({ root, build }) => {
      directory = resolve(root, build.outDir);
    },
    closeBundle: async () => {
      const entries = await readdir(directory, { recursive: true, withFileTypes: true });
      const paths = entries
        .filter((entry) => entry.isFile() && compressible.test(entry.name))
        .map((entry) => join(entry.parentPath, entry.name));
      await Promise.all(paths.map(compress));
    },
  };
}

async function compress(path: string): Promise<void> {
  const bytes = await readFile(path);
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  await writeFile(`${path}.br`, await promisify(brotliCompress)(bytes, { params }));
  await writeFile(`${path}.gz`, await promisify(gzip)(bytes, { level: 9 }));
}
