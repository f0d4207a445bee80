import { formatBytes, formatCount, formatTable, printable, pullProgress, stylesFor } from '@hearth/command-line';
import { resolveModel } from '@hearth/hub';
import { Command } from 'commander';
import { type Inspection, inspectModel } from '../inspection.ts';

export function inspectCommand(signal: AbortSignal): Command {
  return new Command('inspect')
    .description('Show what is in a model file or directory, without loading its weights.')
    .argument('<model>', 'path, catalogue name, or Hugging Face repository')
    .option('--json', 'print one JSON object')
    .action(async (spec: string, options: { json?: boolean }) => {
      const progress = pullProgress();
      const { path } = await resolveModel(spec, { signal, ...progress.options }).finally(() => progress.stop());
      const inspection = await inspectModel(path, signal);
      const text = options.json ? JSON.stringify(inspection, null, 2) : render(inspection);
      process.stdout.write(`${text}\n`);
    });
}

function render(model: Inspection): string {
  const { bold } = stylesFor(process.stdout);
  const section = (title: string, body: string) => `${bold(title)}\n${printable(body)}`;
  const facts = [
    ['name', model.name],
    ['path', model.path],
    ['format', model.format],
    ['size', formatBytes(model.sizeBytes)],
    ['architecture', model.architecture],
    ['parameters', formatCount(model.numParameters)],
    ['runs here', model.runs === true ? 'yes' : `no: ${model.runs}`],
  ];
  const dtypes = model.dtypes.map(({ dtype, tensors, bytes }) => [dtype, `${tensors} tensors`, formatBytes(bytes)]);
  const tensors = model.tensors.map(({ name, dtype, shape, byteLength }) => {
    return [name, dtype, shape.join(' x '), formatBytes(byteLength)];
  });
  const sections = [
    section('Model', formatTable(facts)),
    ...(model.config ? [section('Config', configTable(model.config))] : []),
    section('Types', formatTable(dtypes, [1, 2])),
    section('Tokenizer', tokenizerTable(model)),
    section('Chat template', model.chatTemplate ?? 'none'),
    section('Tensors', formatTable(tensors, [3])),
    ...(model.warnings.length > 0 ? [section('Warnings', model.warnings.join('\n'))] : []),
  ];
  return sections.join('\n\n');
}

function configTable(config: Readonly<Record<string, unknown>>): string {
  return formatTable(Object.entries(config).map(([key, value]) => [key, JSON.stringify(value)]));
}

function tokenizerTable({ tokenizer }: Inspection): string {
  if (typeof tokenizer === 'string') return tokenizer;
  const { kind, vocabSize, bosTokenId, eosTokenIds, specialTokens } = tokenizer;
  // Models with hundreds of reserved tokens would fill the screen.
  const shown = specialTokens.slice(0, 24).map(({ id, content }) => `${content} (${id})`);
  const more = specialTokens.length > shown.length ? [`and ${specialTokens.length - shown.length} more`] : [];
  return formatTable([
    ['source', kind],
    ['tokens', String(vocabSize)],
    ['bos', bosTokenId === null ? 'none' : String(bosTokenId)],
    ['eos', eosTokenIds.join(', ') || 'none'],
    ['special', [...shown, ...more].join(', ') || 'none'],
  ]);
}
