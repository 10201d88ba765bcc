// Writes src/api/generated.ts from the board's OpenAPI document:
//   node generate-types.mjs openapi.json [--check]
// With --check it writes nothing and fails if the file is not what it would write.
// Our schemas are plain records, so these few lines do what a generator with sixty packages would.
import { readFileSync, writeFileSync } from 'node:fs';

const TARGET = new URL('src/api/generated.ts', import.meta.url);
const [source, mode] = process.argv.slice(2);
if (!source) {
  console.error('usage: node generate-types.mjs openapi.json [--check]');
  process.exit(2);
}

/** One schema as a TypeScript type. */
function type(schema) {
  if (schema.$ref) return schema.$ref.split('/').at(-1);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if ('const' in schema) return JSON.stringify(schema.const);
  // An empty alternative is what a tuple of any length leaves behind; it says nothing.
  const choices = (schema.oneOf ?? schema.anyOf)?.filter((each) => Object.keys(each).length);
  if (choices) return [...new Set(choices.map(type))].join(' | ');
  switch (schema.type) {
    case 'integer':
    case 'number':
      return 'number';
    case 'array':
      return `(${type(schema.items ?? {})})[]`;
    case 'object':
      return `Record<string, ${schema.additionalProperties ? type(schema.additionalProperties) : 'unknown'}>`;
    case undefined:
      return 'unknown';
    default:
      return schema.type;
  }
}

// The board always sends every field, so none is optional here.
function record([name, schema]) {
  const fields = Object.entries(schema.properties ?? {}).map(([field, each]) => `  ${field}: ${type(each)};`);
  return `export interface ${name} {\n${fields.join('\n')}\n}\n`;
}

const schemas = JSON.parse(readFileSync(source, 'utf8')).components.schemas;
const records = Object.entries(schemas)
  .sort(([a], [b]) => (a < b ? -1 : 1))
  .map((entry) => (entry[1].properties ? record(entry) : `export type ${entry[0]} = ${type(entry[1])};\n`));
const text = ['// Written by generate-types.mjs from the OpenAPI document. Do not edit.\n', ...records].join(
  '\n',
);

if (mode !== '--check') writeFileSync(TARGET, text);
else if (readFileSync(TARGET, 'utf8') !== text) {
  console.error('src/api/generated.ts is not what the OpenAPI document says: run generate-types.mjs');
  process.exit(1);
}
