const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const months = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

/**
 * Python's `strftime` in the C locale and local time, for the directives that chat templates use. Names are English
 * whatever the language of the machine, because the models were trained so. Unknown directives stay as they are.
 */
export function strftime(date: Date, format: string): string {
  const pad = (value: number, width = 2) => String(value).padStart(width, '0');
  const hour12 = date.getHours() % 12 || 12;
  const day = days[date.getDay()] as string;
  const month = months[date.getMonth()] as string;
  const startOfYear = new Date(date.getFullYear(), 0, 0, date.getHours(), date.getMinutes());
  const dayOfYear = Math.round((date.getTime() - startOfYear.getTime()) / 86_400_000);
  const values: Readonly<Record<string, string>> = {
    Y: String(date.getFullYear()),
    y: pad(date.getFullYear() % 100),
    m: pad(date.getMonth() + 1),
    '-m': String(date.getMonth() + 1),
    d: pad(date.getDate()),
    '-d': String(date.getDate()),
    e: String(date.getDate()).padStart(2, ' '),
    B: month,
    b: month.slice(0, 3),
    h: month.slice(0, 3),
    A: day,
    a: day.slice(0, 3),
    j: pad(dayOfYear, 3),
    H: pad(date.getHours()),
    '-H': String(date.getHours()),
    I: pad(hour12),
    '-I': String(hour12),
    M: pad(date.getMinutes()),
    S: pad(date.getSeconds()),
    f: pad(date.getMilliseconds() * 1000, 6),
    p: date.getHours() < 12 ? 'AM' : 'PM',
    F: `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`,
    T: `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`,
    '%': '%',
  };
  return format.replace(/%(-?[A-Za-z%])/g, (directive, name: string) => values[name] ?? directive);
}
