import {
  type AnsweringFlags,
  addAnsweringOptions,
  closeWithDraft,
  loadWithDraft,
  openWithDraft,
  parseWhole,
  printable,
  stylesFor,
  UsageError,
} from '@hearth/command-line';
import { Command } from 'commander';
import { type AnswerFlags, addAnswerOptions } from '../answer-options.ts';
import { Conversation } from '../conversation.ts';
import type { SamplingFlags } from '../sampling-options.ts';
import { generate } from './generate.ts';

interface ChatFlags extends AnsweringFlags, AnswerFlags {
  system?: string;
  compose: boolean;
}

const defaultMaxTokens = 1024;

/** Small models repeat themselves for ever in greedy conversations; a mild penalty on the last tokens breaks the circle. */
const chatSampling: SamplingFlags = { repetitionPenalty: 1.1, repetitionWindow: 64 };

export function chatCommand(signal: AbortSignal): Command {
  const command = new Command('chat')
    .description('Talk to a model. Without a terminal, standard input is one prompt, answered once.')
    .option('-s, --system <text>', 'system message')
    .option('-n, --max-tokens <n>', 'most tokens per answer', (t) => parseWhole(t, '--max-tokens', 1), defaultMaxTokens)
    .option('--no-compose', 'compute messages when they are sent only, not while they are typed');
  addAnswerOptions(addAnsweringOptions(command), chatSampling);
  return command.action((flags: ChatFlags) =>
    process.stdin.isTTY ? openChat(flags, signal) : generate(flags, signal),
  );
}

async function openChat(flags: ChatFlags, signal: AbortSignal): Promise<void> {
  const opened = await openWithDraft(flags, { signal });
  const { resolved, prepared } = opened;
  try {
    if (prepared.chatTemplate === null) {
      throw new UsageError(`${resolved.name} has no chat template; use \`hearth generate\` to continue a text.`);
    }
    const loaded = await loadWithDraft(opened, flags, signal);
    const { model } = loaded;
    try {
      const { variant, numThreads } = model.info.backend;
      const threads = `${numThreads} ${numThreads === 1 ? 'thread' : 'threads'}`;
      const greeting = `${printable(resolved.name)}, ${variant}, ${threads}. /help lists commands.`;
      process.stdout.write(`${stylesFor(process.stdout).dim(greeting)}\n`);
      await new Conversation(model, flags, signal).run();
    } finally {
      await loaded.dispose();
    }
  } finally {
    await closeWithDraft(opened);
  }
}
