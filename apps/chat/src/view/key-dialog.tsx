import { useState } from 'react';
import { Dialog } from './dialog.tsx';

export interface KeyDialogProps {
  /** The server did not want the one that it was given. */
  readonly wasRefused: boolean;
  readonly onKey: (key: string) => void;
}

/** What a browser can send as a key; with anything else, no request would leave it any more. */
const sendable = /^[\x21-\x7e]+$/;

/** Asks for the key of the server, which is kept until the tab is closed. */
export function KeyDialog({ wasRefused, onKey }: KeyDialogProps) {
  const [key, setKey] = useState('');
  const [problem, setProblem] = useState(wasRefused ? 'The server does not know this key.' : undefined);
  return (
    <Dialog title="This server needs a key">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const trimmed = key.trim();
          if (sendable.test(trimmed)) onKey(trimmed);
          else if (trimmed !== '') setProblem('A key has only letters from a to z, digits and signs, and no blanks.');
        }}
      >
        <label>
          Key
          <input type="password" autoComplete="off" value={key} onChange={(event) => setKey(event.target.value)} />
        </label>
        {problem && (
          <p className="problem" role="alert">
            {problem}
          </p>
        )}
        <p className="hint">It is kept until this tab is closed.</p>
        <button type="submit" className="button">
          Use this key
        </button>
      </form>
    </Dialog>
  );
}
