import { realpath, stat } from 'node:fs/promises';
import { dirname, extname } from 'node:path';
import {
  type Checkpoint,
  convertToGguf,
  convertToHuggingFaceDirectory,
  openCheckpoint,
  type QuantizeRule,
  type StorageDtype,
} from '@hearth/checkpoint';
import {
  addBackendOptions,
  type BackendFlags,
  byteProgress,
  collectRule,
  formatBytes,
  formatTable,
  openBackend,
  parseStorageDtype,
  pullProgress,
  UsageError,
} from '@hearth/command-line';
import { InvalidArgumentError, isQuantizedDtype } from '@hearth/core';
import { resolveModel } from '@hearth/hub';
import { Command } from 'commander';
import { ggufMetadata } from '../gguf-metadata.ts';
import { byDtype } from '../inspection.ts';

interface QuantizeFlags extends BackendFlags {
  to: StorageDtype;
  tensor?: QuantizeRule[];
  force?: boolean;
}

export function quantizeCommand(signal: AbortSignal): Command {
  const command = new Command('quantize')
    .description('Write a model with its weights in other types, as a GGUF file or a Hugging Face directory.')
    .argument('<model>', 'path, catalogue name, or Hugging Face repository')
    .argument('<output>', 'a path that ends in .gguf; or a directory, for f32, f16 and bf16')
    .requiredOption('--to <type>', 'type of the matrices: q8_0, q4_k, bf16 ...', (text) =>
      parseStorageDtype(text, '--to'),
    )
    .option(
      '--tensor <pattern=type>',
      "type of the tensors whose names fit, such as '*.v_proj.weight=q6_k'; may be repeated, the last one wins",
      collectRule,
    )
    .option('--force', 'replace a file that is there');
  return addBackendOptions(command).action((model: string, output: string, flags: QuantizeFlags) =>
    quantize(model, output, flags, signal),
  );
}

async function quantize(model: string, output: string, flags: QuantizeFlags, signal: AbortSignal): Promise<void> {
  const isGguf = extname(output).toLowerCase() === '.gguf';
  if (!isGguf) requirePlain(flags);
  const existing = await realpath(output).catch(() => undefined);
  if (isGguf && existing !== undefined && !flags.force) {
    throw new InvalidArgumentError(`${output} is there already. Pass --force to replace it.`);
  }
  await requireFolder(dirname(output));
  const pull = pullProgress();
  const { path } = await resolveModel(model, { signal, ...pull.options }).finally(() => pull.stop());
  const backend = await openBackend(flags);
  try {
    const checkpoint = await openCheckpoint(path, { fileMapper: backend.fileMapper, signal });
    const progress = byteProgress(`Writing ${flags.to}`);
    try {
      await refuseItself(checkpoint, existing);
      warnOfSecondRounding(checkpoint, flags.to);
      const onProgress = (event: { doneBytes: number; totalBytes: number }) =>
        progress.update(event.doneBytes, event.totalBytes);
      if (isGguf) {
        const { quantizer } = backend;
        const metadata = ggufMetadata(checkpoint);
        if (checkpoint.tokenizer === null) {
          process.stderr.write('The model has no tokenizer.json, so the file will have no tokenizer.\n');
        }
        await convertToGguf(checkpoint, output, {
          dtype: flags.to,
          ...(flags.tensor && { rules: flags.tensor }),
          ...(quantizer && { quantizer }),
          ...(metadata && { metadata }),
          onProgress,
          signal,
        });
      } else {
        if (checkpoint.tokenizer?.kind !== 'tokenizer-json') {
          process.stderr.write(
            'The model has no tokenizer.json, and none is made of a GGUF tokenizer: the directory will have none, and needs one before it runs.\n',
          );
        }
        const dtype = flags.to as 'f32' | 'f16' | 'bf16';
        await convertToHuggingFaceDirectory(checkpoint, output, { dtype, onProgress, signal });
      }
      progress.stop();
      process.stdout.write(`${await summary(checkpoint, output)}\n`);
    } finally {
      progress.stop();
      await checkpoint.close();
    }
  } finally {
    await backend.dispose();
  }
}

function requirePlain({ to, tensor }: QuantizeFlags): void {
  if (isQuantizedDtype(to)) {
    throw new UsageError(
      `A Hugging Face directory cannot hold ${to}: safetensors has no quantized types. Let the output end in .gguf, or take f32, f16 or bf16.`,
    );
  }
  if (tensor)
    throw new UsageError('--tensor is for GGUF files: the weights of a Hugging Face directory have one type.');
}

/** Said before a model is fetched and quantized for nothing. */
async function requireFolder(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (!found?.isDirectory()) {
    throw new InvalidArgumentError(`The output would lie in ${path}, which is not a directory. Make it first.`);
  }
}

/** Its bytes are read while the new ones are written. */
async function refuseItself(checkpoint: Checkpoint, existing: string | undefined): Promise<void> {
  if (existing === undefined) return;
  const files = new Set([...checkpoint.tensors.values()].map(({ file }) => file.path));
  for (const file of files) {
    if ((await realpath(file).catch(() => undefined)) === existing) {
      throw new InvalidArgumentError(`${existing} is a file of the model itself. Write to another place.`);
    }
  }
}

function warnOfSecondRounding({ tensors }: Checkpoint, to: StorageDtype): void {
  const rounded = byDtype([...tensors.values()]).filter(
    ({ dtype }) => /^(q|iq)\d|^int4|^f8/.test(dtype) && dtype !== to,
  );
  if (rounded.length === 0 || !isQuantizedDtype(to)) return;
  const types = rounded.map(({ dtype }) => dtype).join(', ');
  process.stderr.write(`Some weights are quantized already (${types}); quantizing them again adds to their error.\n`);
}

/** By type: tensors and bytes of the model as it was, and as it was written. */
async function summary(before: Checkpoint, output: string): Promise<string> {
  const after = await openCheckpoint(output);
  try {
    const sides = [before, after].map(({ tensors }) => byDtype([...tensors.values()]));
    const dtypes = new Set(sides.flatMap((side) => side.map(({ dtype }) => dtype)));
    const rows = [...dtypes].map((dtype) => [
      dtype,
      ...sides.flatMap((side) => {
        const found = side.find((each) => each.dtype === dtype);
        return found ? [String(found.tensors), formatBytes(found.bytes)] : ['', ''];
      }),
    ]);
    const totals = sides.flatMap((side) => [
      String(side.reduce((sum, { tensors }) => sum + tensors, 0)),
      formatBytes(side.reduce((sum, { bytes }) => sum + bytes, 0)),
    ]);
    const heading = ['type', 'tensors', 'before', 'tensors', 'after'];
    return formatTable([heading, ...rows, ['total', ...totals]], [1, 2, 3, 4]);
  } finally {
    await after.close();
  }
}
