import { describe, expect, it } from 'vitest';
import { toRegExp } from '../__fixtures__/to-reg-exp.ts';
import { stringOf } from './strings.ts';

const formatted = (format: string) => toRegExp(stringOf({ schema: { type: 'string', format }, path: '#' }));

describe('formats', () => {
  it('date holds the days of the calendar and no others', () => {
    const date = formatted('date');
    const wrong: string[] = [];
    for (const year of [1600, 1899, 1900, 2000, 2004, 2023, 2024, 2100]) {
      for (let month = 0; month <= 13; month++) {
        for (let day = 0; day <= 32; day++) {
          const text = `${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`;
          const read = new Date(`${text}T00:00:00Z`);
          const isDay = !Number.isNaN(read.getTime()) && read.toISOString().startsWith(text);
          if (date.test(`"${text}"`) !== isDay) wrong.push(text);
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  it.each([
    ['time', ['00:00:00Z', '23:59:59.123+02:00'], ['24:00:00Z', '12:60:00Z', '12:00:00', '12:00Z', '1:00:00Z']],
    ['date-time', ['2024-02-29T12:00:00Z'], ['2023-02-29T12:00:00Z', '2024-02-29 12:00:00Z', '2024-02-29']],
    ['uuid', ['123e4567-e89b-12d3-a456-426614174000'], ['123e4567e89b12d3a456426614174000', 'x']],
    ['ipv4', ['0.0.0.0', '255.249.199.99'], ['256.1.1.1', '1.1.1', '01.1.1.1']],
    ['email', ['a.b+c@d-e.example.org', 'x1@y.de'], ['a@b', '@b.de', 'a..b@c.de', 'a@-b.de', 'a b@c.de']],
  ])('%s', (format, right, wrong) => {
    const texts = formatted(format);
    expect(right.filter((text) => !texts.test(`"${text}"`))).toEqual([]);
    expect(wrong.filter((text) => texts.test(`"${text}"`))).toEqual([]);
  });
});
