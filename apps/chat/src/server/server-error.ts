/** What the server answered instead of what was asked for, or that it could not be reached (status 0). */
export class ServerError extends Error {
  readonly status: number;
  readonly code: string | undefined;

  constructor(
    message: string,
    { status, code, cause }: { status: number; code?: string | undefined; cause?: unknown },
  ) {
    super(message, { cause });
    this.name = 'ServerError';
    this.status = status;
    this.code = code;
  }
}

/** Whether it is the end of something that was stopped. */
export function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
