import { bytesOf, type CreateFakeModelOptions, createFakeModel, fakeTokens } from '@hearth/engine/test';
import type { ModelDefinition } from '@hearth/server';

/** What it answers to a message, given the whole prompt. */
export type Reply = (message: string, prompt: string) => string;

const assistant = bytesOf('assistant\n');

/** A model whose answers are made up by the test: bytes for tokens. */
export function chatModel(name: string, reply: Reply, beforeLoad?: () => Promise<void>): ModelDefinition {
  return {
    name,
    load: async () => {
      await beforeLoad?.();
      const sizes = { contextLength: 16_384, cacheTokens: 65_536, maxTokensPerStep: 64 };
      const { model } = await createFakeModel({ next: scriptOf(reply), ...sizes });
      return { model, dispose: () => model.dispose() };
    },
  };
}

function scriptOf(reply: Reply): CreateFakeModelOptions['next'] {
  const answers = new Map<string, number[]>();
  return (context) => {
    const start = context.lastIndexOf(fakeTokens.imStart) + 1 + assistant.length;
    const key = context.slice(0, start).join();
    let answer = answers.get(key);
    if (!answer) {
      const prompt = Buffer.from(context.slice(0, start).filter((id) => id < 256)).toString();
      const message = prompt.slice(prompt.lastIndexOf('user\n') + 5, prompt.lastIndexOf('assistant\n')).trim();
      answer = bytesOf(reply(message, prompt));
      answers.set(key, answer);
    }
    return answer[context.length - start] ?? fakeTokens.imEnd;
  };
}

/** A number that every letter of a text has a part in. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of bytesOf(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}
