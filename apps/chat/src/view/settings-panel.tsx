import { useId } from 'react';
import type { ChatFields } from '../chat/chat-state.ts';
import { type Sampling, type SamplingField, samplingFields } from '../chat/sampling.ts';
import { Dialog } from './dialog.tsx';
import { useLater } from './use-later.ts';

export interface SettingsPanelProps {
  readonly chat: ChatFields;
  readonly onChange: (fields: Partial<ChatFields>) => void;
  readonly onClose: () => void;
}

/** What holds for the open conversation, and for those that are begun from it. */
export function SettingsPanel({ chat, onChange, onClose }: SettingsPanelProps) {
  const title = useLater(chat.title, (title) => onChange({ title }));
  const systemPrompt = useLater(chat.systemPrompt, (systemPrompt) => onChange({ systemPrompt }));
  const sampling = useLater<Sampling>(chat.sampling, (sampling) => onChange({ sampling }));
  const change = (name: string, value: number | undefined) => {
    const { [name]: _, ...others } = sampling.value;
    sampling.change(value === undefined ? others : { ...others, [name]: value });
  };
  return (
    <Dialog title="Settings of this conversation" className="settings" onClose={onClose}>
      <label>
        Title
        <input value={title.value} maxLength={500} onChange={(event) => title.change(event.target.value)} />
      </label>
      <label>
        System prompt
        <textarea
          rows={5}
          placeholder="You answer in one sentence."
          value={systemPrompt.value}
          onChange={(event) => systemPrompt.change(event.target.value)}
        />
      </label>
      <div className="sampling-fields">
        {samplingFields.map((field) => (
          <SamplingInput
            key={field.name}
            field={field}
            value={sampling.value[field.name]}
            onChange={(value) => change(field.name, value)}
          />
        ))}
      </div>
      <p className="hint">What is left empty is up to the server.</p>
    </Dialog>
  );
}

interface SamplingInputProps {
  readonly field: SamplingField;
  readonly value: number | undefined;
  readonly onChange: (value: number | undefined) => void;
}

function SamplingInput({ field: { label, hint, min, max, step }, value, onChange }: SamplingInputProps) {
  const id = useId();
  return (
    <div className="sampling-field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        type="number"
        inputMode="decimal"
        aria-describedby={`${id}-hint`}
        min={min}
        max={max}
        step={step}
        defaultValue={value}
        onChange={({ target }) => {
          if (target.value === '') onChange(undefined);
          else if (target.valueAsNumber >= min && target.valueAsNumber <= max) onChange(target.valueAsNumber);
        }}
      />
      <p id={`${id}-hint`} className="hint">
        {hint}
      </p>
    </div>
  );
}
