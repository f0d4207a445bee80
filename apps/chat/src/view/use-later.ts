import { useEffect, useRef, useState } from 'react';

const pauseMs = 400;

/** A value that is changed at once here, and elsewhere when it has come to rest: with a pause, or at the end. */
export function useLater<Value>(initial: Value, onRest: (value: Value) => void) {
  const [value, setValue] = useState(initial);
  const pending = useRef<{ readonly value: Value }>(undefined);
  const handOn = useRef(onRest);
  useEffect(() => {
    handOn.current = onRest;
  });
  const flush = useRef(() => {
    if (pending.current) handOn.current(pending.current.value);
    pending.current = undefined;
  }).current;
  useEffect(() => {
    const timer = setTimeout(flush, pauseMs);
    return () => clearTimeout(timer);
  }, [value, flush]);
  useEffect(() => flush, [flush]);
  return {
    value,
    change: (value: Value) => {
      pending.current = { value };
      setValue(value);
    },
  };
}
