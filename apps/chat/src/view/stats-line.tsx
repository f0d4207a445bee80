import type { ChatMessage } from '../chat/chat-message.ts';

export interface StatsLineProps {
  readonly stats: ChatMessage['stats'] | undefined;
  readonly ending: ChatMessage['ending'] | undefined;
}

/** How an answer came about, quietly. */
export function StatsLine({ stats, ending }: StatsLineProps) {
  const parts: string[] = [];
  if (ending === 'stopped') parts.push('stopped');
  if (ending === 'length') parts.push('cut at its longest');
  if (stats) {
    const { firstTokenMs, tokensPerSecond, promptTokens, cachedTokens, completionTokens, guesses } = stats;
    if (firstTokenMs !== null) parts.push(`began after ${formatSeconds(firstTokenMs)}`);
    parts.push(`${completionTokens} ${completionTokens === 1 ? 'token' : 'tokens'}`);
    if (tokensPerSecond !== null) parts.push(`${formatRate(tokensPerSecond)} a second`);
    if (guesses) parts.push(`${guesses.right} of ${guesses.made} guesses right`);
    parts.push(`${cachedTokens} of ${promptTokens} read before`);
  }
  return <span className="stats">{parts.join(' · ')}</span>;
}

function formatSeconds(milliseconds: number): string {
  return milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
}

export function formatRate(perSecond: number): string {
  return perSecond < 10 ? perSecond.toFixed(1) : String(Math.round(perSecond));
}
