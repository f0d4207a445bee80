import { type RefObject, useLayoutEffect } from 'react';

/** Makes a text area as high as its text; its style says how high at most. */
export function useGrowingArea(area: RefObject<HTMLTextAreaElement | null>, text: string): void {
  useLayoutEffect(() => {
    const { style, scrollHeight } = resetHeight(area.current!);
    style.height = `${scrollHeight}px`;
  }, [area, text]);
}

function resetHeight(element: HTMLTextAreaElement): HTMLTextAreaElement {
  element.style.height = 'auto';
  return element;
}
