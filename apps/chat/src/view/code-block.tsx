import { isValidElement, type ReactNode } from 'react';
import { CopyButton } from './copy-button.tsx';

/** Code with its language and a button that copies it. */
export function CodeBlock({ children }: { readonly children?: ReactNode }) {
  const language = /language-([\w+#-]+)/.exec(classOf(children))?.[1];
  return (
    <div className="code-block">
      <div className="code-bar">
        <span>{language ?? 'code'}</span>
        <CopyButton text={textOf(children).replace(/\n$/, '')} label="Copy the code" />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
      <pre tabIndex={0}>{children}</pre>
    </div>
  );
}

function classOf(node: ReactNode): string {
  return isValidElement<{ className?: string }>(node) ? (node.props.className ?? '') : '';
}

function textOf(node: ReactNode): string {
  if (typeof node === 'string' || typeof node === 'number') return String(node);
  if (Array.isArray(node)) return node.map(textOf).join('');
  return isValidElement<{ children?: ReactNode }>(node) ? textOf(node.props.children) : '';
}
