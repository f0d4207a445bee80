import { useEffect, useState } from 'react';
import { readMetrics, type ServerSample } from '../server/read-metrics.ts';
import type { ServerClient } from '../server/server-client.ts';
import { messageOf } from '../server/server-error.ts';
import { type RatePoint, rateBetween } from './rates.ts';

const everyMs = 1000;
/** Two minutes. */
export const mostPoints = 121;

/** Asks the server every second what it does, as long as somebody looks. */
export function useStatistics(client: ServerClient) {
  const [points, setPoints] = useState<readonly RatePoint[]>([]);
  const [latest, setLatest] = useState<ServerSample>();
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    let before: ServerSample | undefined;
    let timer: ReturnType<typeof setTimeout>;
    const look = async () => {
      try {
        const sample = await readMetrics(client, signal);
        const point = before && rateBetween(before, sample);
        before = sample;
        setLatest(sample);
        setProblem(undefined);
        if (point) setPoints((points) => [...points, point].slice(-mostPoints));
      } catch (error) {
        if (!signal.aborted) setProblem(messageOf(error));
      }
      if (!signal.aborted) timer = setTimeout(look, everyMs);
    };
    void look();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [client]);
  return { points, latest, problem };
}
