/** What all parts of one answer have in common. */
export interface AnswerHead {
  readonly id: string;
  /** Seconds since 1970. */
  readonly created: number;
  /** The name of the model, whatever alias was asked for. */
  readonly model: string;
  readonly fingerprint: string;
}
