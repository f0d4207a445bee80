import { type ReactNode, useEffect, useRef } from 'react';
import { IconButton } from './icons.tsx';

export interface DialogProps {
  readonly title: string;
  readonly className?: string;
  /** Without it, the dialog cannot be left. */
  readonly onClose?: () => void;
  readonly children: ReactNode;
}

/** Something over the page. The browser keeps the focus in it and gives it back afterwards. */
export function Dialog({ title, className = '', onClose, children }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = ref.current!;
    dialog.showModal();
    return () => dialog.close();
  }, []);
  return (
    <dialog
      ref={ref}
      className={className}
      aria-labelledby="dialog-title"
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
      onClick={(event) => event.target === ref.current && onClose?.()}
      onKeyDown={(event) => event.stopPropagation()}
    >
      <div className="dialog-content">
        <header>
          <h2 id="dialog-title">{title}</h2>
          {onClose && <IconButton icon="remove" label="Close" onClick={onClose} />}
        </header>
        {children}
      </div>
    </dialog>
  );
}
