import type { GpuRow } from '../api/wire';
import type { Fleet } from '../state/fleet.svelte';
import { cudaDevices, takeCommand } from './command';

export type Form = 'command' | 'export' | 'docker' | 'uuids';

/** The ways in which chosen GPUs of a node can be said, each as it will be copied; those that cannot are left out. */
export function copyForms(
  fleet: Pick<Fleet, 'board' | 'nodes'>,
  node: string,
  gpus: Pick<GpuRow, 'uuid' | 'label'>[],
  person: string | null,
): { form: Form; text: string }[] {
  // Only what a shell takes as it stands, so nothing needs a quote.
  const { text, numbered } = cudaDevices(gpus, fleet.nodes.get(node)?.record.numbers_known);
  if (!text) return [];
  const order = numbered ? 'CUDA_DEVICE_ORDER=PCI_BUS_ID ' : '';
  const forms: [Form, string][] = [
    ['command', takeCommand(fleet, node, gpus, person)],
    ['export', `export ${order}CUDA_VISIBLE_DEVICES=${text}`],
    ['docker', `docker run --gpus '"device=${text}"'`],
    ['uuids', numbered ? '' : text],
  ];
  return forms.flatMap(([form, text]) => (text ? { form, text } : []));
}
