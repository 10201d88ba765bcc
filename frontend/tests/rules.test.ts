/** What holds for all sources of the page. */

import { expect, test } from 'vitest';

const sources = import.meta.glob<string>('../src/**/*.{ts,svelte,css}', {
  query: '?raw',
  import: 'default',
  eager: true,
});
const of = (path: string) => sources[`../src/${path}`]!;
// Not what is only imported: `type GpuRow,` declares nothing.
const declared = (source: string) =>
  [...source.matchAll(/^\s*(?:export )?(?:interface|type|class) (\w+)(?=[ <][^,]*[{=])/gm)].map(
    ([, name]) => name!,
  );

test('a shape of the page has no name of another shape of the API', () => {
  const told = new Set(declared(of('api/generated.ts')));
  expect(told).toContain('Person');
  const own = Object.entries(sources).filter(([path]) => !path.startsWith('../src/api/'));
  const same = own.flatMap(([path, source]) =>
    declared(source)
      .filter((name) => told.has(name))
      .map((name) => `${path}: ${name}`),
  );
  expect(same).toEqual([]);
});

test('one word is one thing: what a shape is called that others use, no other is', () => {
  const own = Object.entries(sources).filter(([path]) => !/\/api\/(?:generated|wire)\.ts$/.test(path));
  const all = own.flatMap(([path, source]) => declared(source).map((name) => `${name} ${path}`));
  const shared = own.flatMap(([, source]) =>
    [...source.matchAll(/^export (?:interface|type|class) (\w+)/gm)].map(([, name]) => name!),
  );
  expect(shared.length).toBeGreaterThan(50);
  const twice = [...new Set(shared)].filter(
    (name) => all.filter((each) => each.startsWith(`${name} `)).length > 1,
  );
  expect(twice).toEqual([]);
});

test('how wide a text is has one rule', () => {
  const found = Object.entries(sources).filter(([, source]) => source.includes('\\u2e80'));
  expect(found.map(([path]) => path)).toEqual(['../src/text/width.ts']);
});

test('space that has a token is written with it', () => {
  const tokens = [...of('styles/tokens.css').matchAll(/--space-\w+: (\d+)px/g)].map(([, size]) => size!);
  expect(tokens.length).toBeGreaterThan(5);
  const literal = new RegExp(
    `^\\s*(?:gap|(?:row|column)-gap|padding(?:-\\w+)?|margin(?:-\\w+)?):[^;]*(?<![\\w.-])(?:${tokens.join('|')})px`,
    'gm',
  );
  const found = Object.entries(sources).flatMap(([path, source]) =>
    [...source.matchAll(literal)].map(([line]) => `${path}: ${line.trim()}`),
  );
  expect(found).toEqual([]);
});

test('no part has a style attribute: the content policy forbids it, and the build leaves out what would merge it', () => {
  const found = Object.entries(sources).filter(
    ([path, source]) => path.endsWith('.svelte') && /\sstyle=/.test(source),
  );
  expect(found.map(([path]) => path)).toEqual([]);
});

test('a size asked for has one rule', () => {
  const share =
    /(?:memory|bytes|size|box|gib)\w*\)?\s*\* 0?\.9|\b0?\.9\d* \* \w*(?:memory|bytes|size|box|gib)/i;
  const found = Object.entries(sources).filter(([, source]) => share.test(source));
  expect(found.map(([path]) => path)).toEqual([]);
});

test('nothing is read only to be drawn anew: who forgets that shows what was', () => {
  const found = Object.entries(sources).filter(([, source]) =>
    /void fleet\.version|fleet\.version (?:\?|&&)/.test(source),
  );
  expect(found.map(([path]) => path)).toEqual([]);
});

test('a verdict has one shape, in cells and on the map', () => {
  expect(of('parts/Glyph.svelte')).toContain("import { SHAPES } from './glyphs'");
  expect(of('pages/board/mapPaint.ts')).toContain("import { SHAPES } from '../../parts/glyphs'");
});
