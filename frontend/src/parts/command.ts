/** What people copy to use chosen GPUs. */

import type { GpuRow } from '../api/wire';
import type { Fleet } from '../state/fleet.svelte';

/**
 * What CUDA calls these devices: by UUID, or by number where one has no UUID, never a mix; empty if neither does.
 * While a card of their node is missing, CUDA has other numbers (`numbersKnown`).
 */
export function cudaDevices(
  gpus: Pick<GpuRow, 'uuid' | 'label'>[],
  numbersKnown = true,
): { text: string; numbered: boolean } {
  // A UUID that two nodes have stands before the name of its node.
  const uuids = gpus.map(({ uuid }) => uuid.split('@')[0]!);
  const numbered = !uuids.every((uuid) => /^(GPU|MIG)-[A-Za-z0-9/-]+$/.test(uuid));
  // Cards of a second vendor count from 1000 here: no driver knows those numbers.
  const names = numbered ? gpus.map(({ label }) => label) : uuids;
  return {
    text:
      numbered && (!numbersKnown || names.some((label) => !/^\d{1,3}$/.test(label))) ? '' : names.join(','),
    numbered,
  };
}

/** The admin's shell line for these devices of a node; empty if a name could not go there safely. */
export function takeCommand(
  { board, nodes }: Pick<Fleet, 'board' | 'nodes'>,
  name: string,
  gpus: Pick<GpuRow, 'uuid' | 'label'>[],
  person: string | null = null,
): string {
  // Where it goes may itself be inside of quotes; so nothing passes that a shell would not take as it is.
  const safe = (text: string) => /^[A-Za-z0-9][A-Za-z0-9._:/-]*$/.test(text);
  const record = nodes.get(name)?.record;
  const devices = cudaDevices(gpus, record?.numbers_known);
  if (!safe(name) || !devices.text) return '';
  const address = record?.address ?? '';
  const values: Record<string, string> = {
    node: name,
    address: safe(address) ? address : name,
    devices: devices.text,
    uuids: devices.numbered ? '' : devices.text,
    indexes: record?.numbers_known === false ? '' : gpus.map(({ label }) => label).join(),
    // Whoever has not said who they are, or is not called as an account can be, is who the shell says.
    person: person && safe(person) ? person : '$USER',
  };
  let copy = board?.copy ?? '';
  // Otherwise CUDA numbers the fastest first, not as the driver does.
  if (devices.numbered) copy = copy.replace('env CUDA_V', 'env CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_V');
  // Half a command is none: where a value is missing there is nothing to copy.
  let whole = true;
  const command = copy.replace(/\{(\w+)\}/g, (written, key: string) => {
    const value = values[key] ?? written;
    if (!/^(?:\$USER|\{\w+\}|[A-Za-z0-9][A-Za-z0-9,._:/-]*)$/.test(value)) whole = false;
    return value;
  });
  return whole ? command : '';
}
