// `npm start`: sets the workspace up, then opens a chat with the default model. Arguments go to the CLI:
// `npm start -- --prompt "..."` answers once. Without a terminal and without a prompt, one built-in question is answered.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { environment, root, runMain, setUp } from './setup.mjs';

const builtInQuestion = 'Why is the sky blue?';

runMain(() => {
  setUp();
  const args = process.argv.slice(2);
  const hasPrompt = args.some((argument) => /^(--prompt(=|$)|-p)/.test(argument));
  const command = hasPrompt || !process.stdin.isTTY ? 'generate' : 'chat';
  const question = command === 'generate' && !hasPrompt ? ['--prompt', builtInQuestion] : [];
  if (question.length > 0) console.error(`> ${builtInQuestion}`);
  const cli = spawn(process.execPath, [join(root, 'apps/cli/dist/main.js'), command, ...question, ...args], {
    stdio: 'inherit',
    // npm runs scripts in the root; paths among the arguments are meant from where the user stands.
    cwd: process.env.INIT_CWD ?? process.cwd(),
    env: { ...environment(), CI: process.env.CI },
  });
  // The CLI gets Ctrl-C from the terminal itself and ends in its own way; this process only passes its exit on.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => cli.kill('SIGTERM'));
  cli.on('exit', (code, signal) => {
    process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 143);
  });
});
