import { useState } from 'react';
import { Dialog } from './dialog.tsx';

/** Asks for the key of the server, which is kept until the tab is closed. */
export function KeyDialog({ onKey }: { readonly onKey: (key: string) => void }) {
  const [key, setKey] = useState('');
  return (
    <Dialog title="This server needs a key">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (key.trim() !== '') onKey(key.trim());
        }}
      >
        <label>
          Key
          <input type="password" autoComplete="off" value={key} onChange={(event) => setKey(event.target.value)} />
        </label>
        <p className="hint">It is kept until this tab is closed.</p>
        <button type="submit" className="button">
          Use this key
        </button>
      </form>
    </Dialog>
  );
}
