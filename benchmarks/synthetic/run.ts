// Writes random-weight models in the shapes of published ones, for benchmarks that ask about speed. See README.md.
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { formatNames } from './formats.ts';
import { shapeNames } from './shapes.ts';
import { ensureWritten, type SyntheticFile, syntheticFile } from './synthetic-file.ts';

const { values } = parseArgs({
  options: {
    shape: { type: 'string', default: 'all' },
    format: { type: 'string', default: 'all' },
    list: { type: 'boolean', default: false },
  },
});

if (!values.list && values.shape === 'all' && values.format === 'all') {
  console.error(
    'Name what to write: --shape NAMES, --format NAMES, separated by commas. --list shows all and their sizes.',
  );
  process.exit(1);
}
const files: SyntheticFile[] = [];
for (const shape of namesOf(values.shape, shapeNames)) {
  for (const format of namesOf(values.format, formatNames)) files.push(await syntheticFile(shape, format));
}
if (values.list) list();
else await write();

function list(): void {
  console.log('| Shape | Format | Types of its matrices | MB | Written |');
  console.log('|---|---|---|---|---|');
  for (const file of files) {
    const isWritten = existsSync(file.path) ? 'yes' : '';
    console.log(
      `| ${file.shape} | ${file.format} | ${matrixTypes(file)} | ${megabytes(file.byteLength)} | ${isWritten} |`,
    );
  }
  const total = files.reduce((sum, { byteLength }) => sum + byteLength, 0);
  console.log(`\nAll of them: ${(total / 1e9).toFixed(1)} GB.`);
}

async function write(): Promise<void> {
  for (const file of files) {
    const start = performance.now();
    const isNew = await ensureWritten(file);
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    const what = isNew ? `written in ${seconds} s` : 'there already';
    console.log(`${file.path}: ${megabytes(file.byteLength)} MB, ${what}`);
  }
}

function matrixTypes({ weights, dtypes }: SyntheticFile): string {
  const counts = new Map<string, number>();
  for (const { name, role } of weights) {
    if (role === 'vector') continue;
    const dtype = dtypes.get(name)!;
    counts.set(dtype, (counts.get(dtype) ?? 0) + 1);
  }
  return [...counts].map(([dtype, count]) => `${count} ${dtype}`).join(', ');
}

function namesOf(list: string, all: readonly string[]): readonly string[] {
  return list === 'all' ? all : list.split(',');
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(0);
}
