import { useEffect, useState } from 'react';
import { copyText } from './copy-text.ts';
import { IconButton } from './icons.tsx';

const shownForMs = 1500;

export function CopyButton({ text, label = 'Copy' }: { readonly text: string; readonly label?: string }) {
  const [isCopied, setIsCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setIsCopied(false), shownForMs);
    return () => clearTimeout(timer);
  }, [isCopied]);
  return (
    <IconButton
      icon={isCopied ? 'check' : 'copy'}
      label={isCopied ? 'Copied' : label}
      onClick={() => void copyText(text).then(setIsCopied)}
    />
  );
}
