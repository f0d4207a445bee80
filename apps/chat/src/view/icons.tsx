const paths = {
  menu: 'M4 7h16M4 12h16M4 17h16',
  plus: 'M12 5v14M5 12h14',
  send: 'M12 19V5M6 11l6-6 6 6',
  stop: 'M8 8h8v8H8z',
  settings: 'M4 8h9M17 8h3M4 16h3M11 16h9M13 6v4M7 14v4',
  statistics: 'M5 19V11M12 19V5M19 19v-6',
  light:
    'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 3v1M12 20v1M3 12h1M20 12h1M5.600 5.600l.7.7M17.700 17.700l.7.7M5.600 18.400l.7-.7M17.700 6.300l.7-.7',
  dark: 'M20 14.500A8 8 0 0 1 9.500 4 8 8 0 1 0 20 14.500z',
  copy: 'M9 9h10v11H9zM6 15H5V4h10v1',
  edit: 'M5 19l1-4L16 5l3 3L9 18z',
  retry: 'M19 12a7 7 0 1 1-2-5l2 2M19 4v5h-5',
  remove: 'M6 6l12 12M18 6L6 18',
  check: 'M5 13l5 5L19 7',
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}

export interface IconButtonProps {
  readonly icon: IconName;
  readonly label: string;
  readonly onClick: () => void;
  readonly className?: string;
  readonly isDisabled?: boolean;
}

/** A button that is only an icon, with its name for those who hover over it or do not see it. */
export function IconButton({ icon, label, onClick, className = '', isDisabled = false }: IconButtonProps) {
  return (
    <button
      type="button"
      className={`icon-button ${className}`}
      aria-label={label}
      title={label}
      disabled={isDisabled}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  );
}
