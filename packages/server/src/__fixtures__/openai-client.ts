import OpenAI from 'openai';
import type { HearthServer } from '../index.ts';

/** The official client, in front of a server without a socket. */
export function openAiClient({ fetch }: HearthServer): OpenAI {
  return new OpenAI({
    apiKey: 'none',
    baseURL: 'http://localhost/v1',
    maxRetries: 0,
    fetch: (url, init) => fetch(new Request(url, init as RequestInit)),
  });
}
