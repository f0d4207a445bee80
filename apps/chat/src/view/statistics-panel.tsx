import { useStatistics } from '../chat/use-statistics.ts';
import type { ServerClient } from '../server/server-client.ts';
import { Dialog } from './dialog.tsx';
import { LineChart } from './line-chart.tsx';
import { formatRate } from './stats-line.tsx';

/** What the server does, second by second, for as long as the panel is open. */
export function StatisticsPanel({ client, onClose }: { readonly client: ServerClient; readonly onClose: () => void }) {
  const { points, latest, problem } = useStatistics(client);
  const last = points.at(-1);
  const percent = (part: number | undefined) => `${Math.round(100 * (part ?? 0))} %`;
  const accepted = latest && latest.proposedTokens > 0 ? latest.acceptedTokens / latest.proposedTokens : undefined;
  return (
    <Dialog title="Statistics" className="statistics" onClose={onClose}>
      {problem && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      <LineChart
        title="Tokens a second"
        lines={[
          { name: 'answers', now: formatRate(last?.decode ?? 0), values: points.map(({ decode }) => decode) },
          { name: 'prompts', now: formatRate(last?.prefill ?? 0), values: points.map(({ prefill }) => prefill) },
        ]}
      />
      <LineChart
        title="Requests"
        lines={[
          { name: 'running', now: String(last?.running ?? 0), values: points.map(({ running }) => running) },
          { name: 'waiting', now: String(last?.waiting ?? 0), values: points.map(({ waiting }) => waiting) },
        ]}
      />
      <LineChart
        title="Cache"
        most={1}
        lines={[
          { name: 'in use', now: percent(last?.cacheUsed), values: points.map(({ cacheUsed }) => cacheUsed) },
          { name: 'kept for later', now: percent(last?.cacheKept), values: points.map(({ cacheKept }) => cacheKept) },
        ]}
      />
      <p className="hint">
        {accepted === undefined
          ? 'No tokens were guessed ahead.'
          : `Of ${latest!.proposedTokens} tokens guessed ahead, ${percent(accepted)} were right.`}
      </p>
    </Dialog>
  );
}
