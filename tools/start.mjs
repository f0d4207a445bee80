// `npm start`: sets the workspace up, serves the chat page, and opens a chat in the terminal beside it.
// Arguments go to the terminal chat; `--model` to both. `--no-page` and `--no-terminal` leave one of them out; without the
// terminal, arguments go to the server. `npm start -- --prompt "..."` answers once. Without a terminal and without a prompt,
// one built-in question is answered.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { environment, root, runMain, setUp } from './setup.mjs';

const builtInQuestion = 'Why is the sky blue?';
const cli = join(root, 'apps/cli/dist/main.js');
const settings = {
  // npm runs scripts in the root; paths among the arguments are meant from where the user stands.
  cwd: process.env.INIT_CWD ?? process.cwd(),
  env: { ...environment(), CI: process.env.CI },
};

runMain(() => {
  setUp();
  const { args, hasPage, hasTerminal } = readArguments(process.argv.slice(2));
  const hasPrompt = args.some((argument) => /^(--prompt(=|$)|-p)/.test(argument));
  if (!hasTerminal) runCli('serve', args);
  else if (hasPrompt) runCli('generate', args);
  else if (!process.stdin.isTTY) {
    console.error(`> ${builtInQuestion}`);
    runCli('generate', ['--prompt', builtInQuestion, ...args]);
  } else if (!hasPage) runCli('chat', args);
  else servePage(modelArguments(args), () => runCli('chat', args));
});

function readArguments(given) {
  const own = ['--no-page', '--no-terminal'];
  return {
    args: given.filter((argument) => !own.includes(argument)),
    hasPage: !given.includes('--no-page'),
    hasTerminal: !given.includes('--no-terminal'),
  };
}

/** Those of `--model`, in all ways to write it. */
function modelArguments(args) {
  const start = args.findIndex((argument) => /^(-m|--model(=|$))/.test(argument));
  if (start < 0) return [];
  return args.slice(start, start + (/^(-m|--model)$/.test(args[start]) ? 2 : 1));
}

/** Runs a command of the CLI here; this process ends as it does. */
function runCli(command, args) {
  const child = spawn(process.execPath, [cli, command, ...args], { stdio: 'inherit', ...settings });
  // It gets Ctrl-C from the terminal itself and ends in its own way; this process only passes its exit on.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 143);
    process.exit();
  });
}

/** Serves the page as long as this process lives. `next` is called when it is there, or when it cannot be. */
function servePage(args, next) {
  // In a process group of its own: Ctrl-C is for the chat in the terminal, where it stops an answer.
  const child = spawn(process.execPath, [cli, 'serve', '--log-level', 'warn', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
    ...settings,
  });
  // It hears of no signal but this one.
  process.on('exit', () => child.kill('SIGTERM'));
  process.on('SIGHUP', () => process.exit(129));
  let isOver = false;
  process.on('SIGINT', () => isOver || process.exit(130));
  process.on('SIGTERM', () => isOver || process.exit(143));
  const goOn = () => {
    if (!isOver) next();
    isOver = true;
  };
  createInterface(child.stdout).on('line', (line) => {
    if (!line.startsWith('Chat page: ')) return;
    console.log(line);
    goOn();
  });
  child.on('exit', () => {
    if (!isOver)
      console.error(
        'There is no chat page this time (HEARTH_PORT=9000 npm start takes another port); here is the terminal.',
      );
    goOn();
  });
}
