/** What input methods send for a key that is theirs. Safari ends the composition before it tells of the Enter that did. */
const keyOfInputMethod = 229;

/** Enter, unless with Shift or as the choice of an input method. */
export function isSendKey({
  key,
  shiftKey,
  isComposing,
  keyCode,
}: Pick<KeyboardEvent, 'key' | 'shiftKey' | 'isComposing' | 'keyCode'>): boolean {
  return key === 'Enter' && !shiftKey && !isComposing && keyCode !== keyOfInputMethod;
}
