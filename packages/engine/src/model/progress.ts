/** How far loading has come. `header` and `tokenizer` are reported once, when they begin; `weights` again and again. */
export type LoadProgress =
  | { readonly phase: 'header' }
  | { readonly phase: 'tokenizer' }
  | { readonly phase: 'weights'; readonly doneBytes: number; readonly totalBytes: number };
