import type { ListedModel } from '../server/list-models.ts';

export interface ModelPickerProps {
  readonly models: readonly ListedModel[];
  readonly model: string | undefined;
  readonly onModel: (id: string) => void;
}

/** The models of the server, and how far the chosen one is with loading. */
export function ModelPicker({ models, model, onModel }: ModelPickerProps) {
  const chosen = models.find(({ id }) => id === model);
  const isGone = model !== undefined && models.length > 0 && !chosen;
  const progress = chosen?.progress ?? undefined;
  return (
    <div className="model-picker">
      <select aria-label="Model" value={model ?? ''} onChange={(event) => onModel(event.target.value)}>
        {models.length === 0 && <option value={model ?? ''}>{model ?? '…'}</option>}
        {isGone && <option value={model}>{model} (not here)</option>}
        {models.map(({ id }) => (
          <option key={id} value={id}>
            {id}
          </option>
        ))}
      </select>
      {chosen?.state === 'loading' && (
        <span className="loading" role="status">
          <progress aria-label="Loading the model" {...(progress !== undefined && { value: progress })} />
          loading{progress !== undefined && ` ${Math.round(100 * progress)} %`}
        </span>
      )}
    </div>
  );
}
