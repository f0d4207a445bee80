import type { ListedModel } from '../server/list-models.ts';
import { IconButton } from './icons.tsx';
import { ModelPicker } from './model-picker.tsx';
import { useTheme } from './use-theme.ts';

export interface TopBarProps {
  readonly title: string;
  readonly models: readonly ListedModel[];
  readonly model: string | undefined;
  readonly onModel: (id: string) => void;
  readonly onSidebar: () => void;
  readonly onPanel: (panel: 'settings' | 'statistics') => void;
}

export function TopBar({ title, models, model, onModel, onSidebar, onPanel }: TopBarProps) {
  const theme = useTheme();
  return (
    <header className="top-bar">
      <IconButton icon="menu" label="Conversations" className="sidebar-button" onClick={onSidebar} />
      <ModelPicker models={models} model={model} onModel={onModel} />
      <h1 className="title">{title || 'New conversation'}</h1>
      <IconButton icon="statistics" label="Statistics" onClick={() => onPanel('statistics')} />
      <IconButton icon="settings" label="Settings" onClick={() => onPanel('settings')} />
      <IconButton
        icon={theme.isDark ? 'light' : 'dark'}
        label={theme.isDark ? 'Light colors' : 'Dark colors'}
        onClick={theme.toggle}
      />
    </header>
  );
}
