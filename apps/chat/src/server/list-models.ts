import type { ServerClient } from './server-client.ts';

export interface ListedModel {
  readonly id: string;
  readonly state: 'unloaded' | 'loading' | 'loaded';
  /** While it loads: how much of it is done, from 0 to 1; null where that is not known. */
  readonly progress?: number | null;
}

/** @throws ServerError */
export async function listModels(client: ServerClient, signal?: AbortSignal): Promise<readonly ListedModel[]> {
  const { data } = await client.json<{ data: ListedModel[] }>('/v1/models', { signal });
  return data;
}
