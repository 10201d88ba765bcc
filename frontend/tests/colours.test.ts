/** The verdict colours, measured: apart for every kind of eye, readable on every fill, in both themes. */
import { describe, expect, test } from 'vitest';
import { VERDICTS } from '../src/api/wire';
import tokens from '../src/styles/tokens.css?raw';

type Triple = [number, number, number];
type Matrix = [Triple, Triple, Triple];

// How full colour blindness changes linear RGB (Machado, Oliveira and Fernandes, 2009).
const EYES: Record<string, Matrix> = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protan: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deutan: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritan: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};
const TO_XYZ: Matrix = [
  [0.4124564, 0.3575761, 0.1804375],
  [0.2126729, 0.7151522, 0.072175],
  [0.0193339, 0.119192, 0.9503041],
];

function colour(name: string, theme: 'light' | 'dark'): Triple {
  const found = new RegExp(`--${name}: light-dark\\((#[0-9a-f]{6}), (#[0-9a-f]{6})\\)`).exec(tokens);
  const hex = found?.[theme === 'light' ? 1 : 2];
  if (!hex) throw new Error(`no colour ${name}`);
  const linear = (at: number) => {
    const value = parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return [linear(1), linear(3), linear(5)];
}

function times(matrix: Matrix, [a, b, c]: Triple): Triple {
  return matrix.map(([x, y, z]) => x * a + y * b + z * c) as Triple;
}

function lab(rgb: Triple): Triple {
  const [x, y, z] = times(TO_XYZ, rgb.map((value) => Math.min(1, Math.max(0, value))) as Triple);
  const f = (value: number) => (value > 216 / 24389 ? Math.cbrt(value) : ((24389 / 27) * value + 16) / 116);
  return [116 * f(y) - 16, 500 * (f(x / 0.95047) - f(y)), 200 * (f(y) - f(z / 1.08883))];
}

/** CIEDE2000. */
function difference([l1, a1, b1]: Triple, [l2, a2, b2]: Triple): number {
  const radians = (degrees: number) => (degrees * Math.PI) / 180;
  const seventh = (value: number) => Math.sqrt(value ** 7 / (value ** 7 + 25 ** 7));
  const stretch = 1 + 0.5 * (1 - seventh((Math.hypot(a1, b1) + Math.hypot(a2, b2)) / 2));
  const [c1, c2] = [Math.hypot(stretch * a1, b1), Math.hypot(stretch * a2, b2)];
  const hue = (a: number, b: number) => ((Math.atan2(b, stretch * a) * 180) / Math.PI + 360) % 360;
  const [h1, h2] = [hue(a1, b1), hue(a2, b2)];
  const turn = ((h2 - h1 + 540) % 360) - 180;
  const mean = Math.abs(h1 - h2) <= 180 ? (h1 + h2) / 2 : (h1 + h2 + 360) / 2;
  const [l, c] = [(l1 + l2) / 2, (c1 + c2) / 2];
  const t =
    1 -
    0.17 * Math.cos(radians(mean - 30)) +
    0.24 * Math.cos(radians(2 * mean)) +
    0.32 * Math.cos(radians(3 * mean + 6)) -
    0.2 * Math.cos(radians(4 * mean - 63));
  const dl = (l2 - l1) / (1 + (0.015 * (l - 50) ** 2) / Math.sqrt(20 + (l - 50) ** 2));
  const dc = (c2 - c1) / (1 + 0.045 * c);
  const dh = (2 * Math.sqrt(c1 * c2) * Math.sin(radians(turn / 2))) / (1 + 0.015 * c * t);
  const rotation = -2 * seventh(c) * Math.sin(radians(60 * Math.exp(-(((mean - 275) / 25) ** 2))));
  return Math.sqrt(dl ** 2 + dc ** 2 + dh ** 2 + rotation * dc * dh);
}

function contrast(a: Triple, b: Triple): number {
  const [dark, light] = [times(TO_XYZ, a)[1], times(TO_XYZ, b)[1]].sort((x, y) => x - y) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

describe.each(['light', 'dark'] as const)('in the %s theme', (theme) => {
  test.each(Object.keys(EYES))('any two verdicts look different to %s eyes', (eye) => {
    const seen = VERDICTS.map(
      (verdict) => [verdict, lab(times(EYES[eye]!, colour(verdict, theme)))] as const,
    );
    for (const [one, first] of seen)
      for (const [other, second] of seen)
        if (one < other) expect([one, other, difference(first, second) >= 15.9]).toEqual([one, other, true]);
  });

  test.each(VERDICTS)('text on %s can be read', (verdict) => {
    expect(contrast(colour(verdict, theme), colour(`${verdict}-text`, theme))).toBeGreaterThanOrEqual(4.6);
  });

  test.each(['text', 'text-soft', 'free-ink', 'idle-ink', 'booked-ink', 'broken-ink', 'link'])(
    '%s can be read on the page and on panels',
    (ink) => {
      for (const ground of ['page', 'surface', 'raised'])
        expect(contrast(colour(ink, theme), colour(ground, theme))).toBeGreaterThanOrEqual(4.5);
    },
  );
});

test('bars have no colour of a verdict: how full something is is no judgement', () => {
  const of = (name: RegExp) =>
    [...tokens.matchAll(name)].flatMap(([, light, dark]) => [light, dark] as string[]);
  const bars = of(/--bar-\w+: light-dark\((#\w+), (#\w+)\)/g);
  expect(bars).toHaveLength(6);
  const verdicts = VERDICTS.flatMap((word) =>
    of(new RegExp(`--${word}(?:-\\w+)?: light-dark\\((#\\w+), (#\\w+)\\)`, 'g')),
  );
  expect(verdicts.length).toBeGreaterThanOrEqual(2 * VERDICTS.length);
  expect(bars.filter((each) => verdicts.includes(each))).toEqual([]);
});
