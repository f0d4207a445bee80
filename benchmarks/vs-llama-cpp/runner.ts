import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Answer, Question, Ready, RunnerSettings } from './protocol.ts';

/** Engines spin for a while when they have nothing to do; the next one shall not find its cores taken by that. */
const settleMs = 300;

/**
 * A runner process that holds one model and answers one question at a time: those of protocol.ts, unless a benchmark names
 * others.
 */
export class Runner<Asked = Question, Answered = Answer> {
  readonly ready: Ready;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, ready: Ready) {
    this.#child = child;
    this.ready = ready;
  }

  /**
   * Starts `runner-NAME.ts`; resolves when it has loaded its model.
   * @param env added to the environment
   * @param directory of the script; this one by default
   */
  static async start<Asked = Question, Answered = Answer>(
    name: 'hearth' | 'peer',
    settings: RunnerSettings,
    env: Readonly<Record<string, string>> = {},
    directory = new URL('.', import.meta.url),
  ): Promise<Runner<Asked, Answered>> {
    const script = fileURLToPath(new URL(`runner-${name}.ts`, directory));
    const options = { execArgv: ['--import', 'tsx'], env: { ...process.env, ...env } };
    const child = fork(script, [JSON.stringify(settings)], options);
    const [ready] = await receive(child);
    return new Runner<Asked, Answered>(child, ready as Ready);
  }

  /** Threads of whoever was asked before have gone to sleep when it begins. */
  async ask(question: Asked): Promise<Answered> {
    await new Promise((resolve) => setTimeout(resolve, settleMs));
    this.#child.send(question as object);
    const [answer] = await receive(this.#child);
    return answer as Answered;
  }

  async stop(): Promise<void> {
    const exited = once(this.#child, 'exit');
    this.#child.disconnect();
    await exited;
  }
}

/** The next message of a runner; rejects when it ends instead. */
async function receive(child: ChildProcess): Promise<unknown[]> {
  const controller = new AbortController();
  const { signal } = controller;
  const ended = once(child, 'exit', { signal }).then(([code]) => {
    throw new Error(`A runner ended with exit code ${code}.`);
  });
  // Whichever comes second is no longer waited for; its listener goes with the signal.
  ended.catch(() => {});
  return Promise.race([once(child, 'message', { signal }), ended]).finally(() => controller.abort());
}
