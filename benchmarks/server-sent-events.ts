/**
 * The data of server-sent events as they arrive, `[DONE]` left out. Events that arrive in one piece come in one list. Leaving
 * early closes the connection.
 */
export async function* eventsOf(response: Response): AsyncGenerator<readonly string[]> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of response.body!) {
    const events = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split('\n\n');
    rest = events.pop()!;
    const data = events.filter((event) => event.startsWith('data: ')).map((event) => event.slice('data: '.length));
    const list = data.filter((text) => text !== '[DONE]');
    if (list.length > 0) yield list;
  }
}
