import { useEffect, useLayoutEffect, useState } from 'react';

const preferenceName = 'hearth-theme';
type Theme = 'light' | 'dark';

/** The colors of the system, until others are chosen. */
export function useTheme() {
  const [chosen, setChosen] = useState(readChoice);
  const [ofSystem, setOfSystem] = useState(readSystem);
  useEffect(() => {
    const query = matchMedia('(prefers-color-scheme: dark)');
    const onChange = () => setOfSystem(readSystem());
    query.addEventListener('change', onChange);
    return () => query.removeEventListener('change', onChange);
  }, []);
  const theme = chosen ?? ofSystem;
  useLayoutEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);
  return {
    isDark: theme === 'dark',
    toggle: () => {
      const other = theme === 'dark' ? 'light' : 'dark';
      localStorage.setItem(preferenceName, other);
      setChosen(other);
    },
  };
}

function readChoice(): Theme | undefined {
  const choice = localStorage.getItem(preferenceName);
  return choice === 'light' || choice === 'dark' ? choice : undefined;
}

function readSystem(): Theme {
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
}
