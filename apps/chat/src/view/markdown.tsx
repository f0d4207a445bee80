import { type ComponentProps, memo, type ReactNode } from 'react';
import ReactMarkdown, { type Components } from 'react-markdown';
import rehypeHighlight from 'rehype-highlight';
import remarkGfm from 'remark-gfm';
import { CodeBlock } from './code-block.tsx';
import { refuseDeepTrees } from './refuse-deep-trees.ts';

/**
 * What a model has written, as Markdown. HTML in it stays text, links lead out of the page in a new tab, and pictures are
 * links: to load one would tell somebody that it was shown. What is nested too deeply to be drawn is shown as it was written.
 */
export const Markdown = memo(function Markdown({ text }: { readonly text: string }) {
  return <div className="markdown">{elementsOf(text)}</div>;
});

/** Called rather than handed to React, for which one text that cannot be drawn would be the end of the whole page. */
function elementsOf(text: string): ReactNode {
  try {
    return ReactMarkdown({ children: text, remarkPlugins, rehypePlugins, components });
  } catch {
    return <p className="as-written">{text}</p>;
  }
}

const remarkPlugins = [remarkGfm];
const rehypePlugins: ComponentProps<typeof ReactMarkdown>['rehypePlugins'] = [
  refuseDeepTrees,
  [rehypeHighlight, { detect: false }],
];

const components: Components = {
  a: ({ href, children }) => <OutsideLink href={href}>{children}</OutsideLink>,
  img: ({ src, alt }) => <OutsideLink href={typeof src === 'string' ? src : undefined}>{alt || 'Picture'}</OutsideLink>,
  pre: ({ children }) => <CodeBlock>{children}</CodeBlock>,
  table: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section className="table" tabIndex={0} aria-label="Table">
      <table>{children}</table>
    </section>
  ),
};

/** Addresses within this server, or of other kinds than those of the web, are no links. */
function OutsideLink({ href, children }: { readonly href: string | undefined; readonly children?: ReactNode }) {
  if (!href || !/^(https?:\/\/|mailto:)/i.test(href)) return <span>{children}</span>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}
