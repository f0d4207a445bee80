import { serveCommand } from '@hearth/server-app';
import { Command } from 'commander';
import { benchCommand } from './commands/bench.ts';
import { cacheCommand } from './commands/cache.ts';
import { chatCommand } from './commands/chat.ts';
import { generateCommand } from './commands/generate.ts';
import { inspectCommand } from './commands/inspect.ts';
import { listCommand } from './commands/list.ts';
import { perplexityCommand } from './commands/perplexity.ts';
import { pullCommand } from './commands/pull.ts';
import { quantizeCommand } from './commands/quantize.ts';
import { removeCommand } from './commands/remove.ts';
import { verifyCommand } from './commands/verify.ts';
import { cliVersion } from './version.ts';

/**
 * The command line of `hearth`.
 * @param signal fires when the user wants it to stop
 */
export function createProgram(signal: AbortSignal): Command {
  const program = new Command('hearth')
    .description('Run language models on this machine, in TypeScript with C++ kernels.')
    .version(cliVersion())
    .showHelpAfterError('Run with --help for usage.')
    .exitOverride()
    .addHelpText(
      'after',
      `
Models are catalogue names (smollm2:135m), Hugging Face repositories (org/name), or paths of files and directories.

Examples:
  hearth chat
  hearth generate --prompt "Why is the sky blue?"
  echo "Why is the sky blue?" | hearth generate
  hearth serve
  hearth inspect ./model.gguf`,
    );
  const commands = [
    chatCommand(signal),
    generateCommand(signal),
    inspectCommand(signal),
    verifyCommand(signal),
    perplexityCommand(signal),
    serveCommand(signal),
    benchCommand(signal),
    quantizeCommand(signal),
    pullCommand(signal),
    listCommand(signal),
    removeCommand(signal),
    cacheCommand(),
  ];
  for (const command of commands) program.addCommand(command.copyInheritedSettings(program));
  return program;
}
