import type { Reading } from '../chat/draft-reader.ts';

/** How much of the message has been read already. */
export function ReadingLine({ reading }: { readonly reading: Reading }) {
  return (
    <p id="reading" className="reading" data-state={reading.state}>
      {textOf(reading)}
    </p>
  );
}

function textOf(reading: Reading): string {
  switch (reading.state) {
    case 'idle':
      return '';
    case 'reading':
      return 'reading …';
    case 'read':
      return `${reading.readTokens} of ${reading.totalTokens} tokens read`;
    case 'failed':
      return reading.problem;
  }
}
