import { useCallback, useEffect, useState } from 'react';
import { type ListedModel, listModels } from '../server/list-models.ts';
import type { ServerClient } from '../server/server-client.ts';

const preferenceName = 'hearth-model';
const lookEveryMs = 500;
/** A model that is asked for is loading a moment later. */
const watchForMs = 3000;

/** The models of the server; while one of them loads, how far it is. */
export function useModels(client: ServerClient) {
  const [models, setModels] = useState<readonly ListedModel[]>([]);
  const [watchUntil, setWatchUntil] = useState(0);
  const [preference, setPreference] = useState(() => localStorage.getItem(preferenceName) ?? undefined);
  const isLoading = models.some(({ state }) => state === 'loading');

  useEffect(() => {
    const controller = new AbortController();
    let timer: ReturnType<typeof setTimeout>;
    const look = async () => {
      const found = await listModels(client, controller.signal).catch(() => undefined);
      if (controller.signal.aborted) return;
      if (found) setModels(found);
      const goesOn = !found || isLoading || performance.now() < watchUntil;
      if (goesOn) timer = setTimeout(look, found ? lookEveryMs : 4 * lookEveryMs);
    };
    void look();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [client, isLoading, watchUntil]);

  return {
    models,
    /** The one that was chosen last, if it is still there; else the first. */
    preferred: models.find(({ id }) => id === preference)?.id ?? models[0]?.id,
    prefer: useCallback((id: string) => {
      localStorage.setItem(preferenceName, id);
      setPreference(id);
    }, []),
    watch: useCallback(() => setWatchUntil(performance.now() + watchForMs), []),
  };
}
