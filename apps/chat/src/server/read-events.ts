/**
 * The data of server-sent events as they come, however they are cut into pieces.
 * Source: https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
export async function* readEvents(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  let data: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += decoder.decode(value, { stream: true });
      // A carriage return at the end may be the first half of a line break.
      const lines = rest.split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop()!;
      for (const line of lines) {
        if (line === '') {
          if (data.length > 0) yield data.join('\n');
          data = [];
        } else if (line.startsWith('data:')) {
          data.push(line.slice(line[5] === ' ' ? 6 : 5));
        }
      }
    }
  } finally {
    // Whoever stops reading ends the request.
    reader.cancel().catch(() => {});
  }
}
