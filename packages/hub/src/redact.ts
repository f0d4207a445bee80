/**
 * A URL as it may be shown: without user name, password and query. Signed download links carry their key in the query,
 * private package indexes carry a token as user name or password.
 */
export function redactUrl(url: string | URL): string {
  try {
    const shown = new URL(url);
    shown.username = '';
    shown.password = '';
    shown.search = '';
    shown.hash = '';
    return shown.href;
  } catch {
    // A mistyped URL may still hold a password, so nothing of it is shown.
    return '(a URL that cannot be read)';
  }
}

/** A URL and the Basic credentials that stood in it. `fetch` refuses URLs that carry credentials. */
export function splitCredentials(url: string | URL): { url: URL; authorization?: string } {
  const bare = new URL(url);
  const { username, password } = bare;
  bare.username = '';
  bare.password = '';
  if (!username && !password) return { url: bare };
  const pair = `${decodePercent(username)}:${decodePercent(password)}`;
  return { url: bare, authorization: `Basic ${Buffer.from(pair).toString('base64')}` };
}

/** Percent-decodes; text with a stray `%` is taken as it stands rather than refused. */
export function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
