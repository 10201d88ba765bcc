import type { GpuRow } from '../api/wire';

// Drivers, error correction and MIG keep some of what is printed on the box; the board's own rule is the same.
export const BOX_SHARE = 0.92;

/** What a name is made of. */
type Named = Pick<
  GpuRow,
  'model' | 'memory_total_bytes' | 'mig_profile' | 'mig_parent_uuid' | 'memory_unified'
>;

/** "H100 80 GB": the model with its memory, written one way whether or not the name already says how much. */
export function nominalModel(gpu: Named): string {
  // Not the "1g.10gb" of a part of a GPU: that is a name.
  const name = (gpu.model ?? 'GPU').replace(/(?<![.\w])(\d+)\s*Gi?B?(?![.\w])/i, '$1 GB');
  // Of an instance whose profile nobody knows, the card's name says a size that it has not.
  if (gpu.mig_parent_uuid && !gpu.mig_profile) return instanceName(name, gpu.memory_total_bytes);
  // An instance has its profile in its name already, and that says its size.
  if (gpu.mig_profile || gpu.memory_total_bytes === null || gpu.memory_unified || / GB\b/.test(name))
    return name;
  return `${name} ${boxSize(gpu.memory_total_bytes / 2 ** 30)} GB`;
}

function instanceName(card: string, bytes: number | null): string {
  const size = bytes === null ? '' : ` ${Math.round(bytes / 2 ** 30)} GB`;
  return `${card.replace(/[\s-]*\d+ GB\b/, '')} MIG${size}`;
}

// What is printed on boxes, where a plain rounding would say less: an A10 has 22.5 of its 24.
const BOXES = [12, 16, 24, 48];

/** The size by which a card is known, and found: `memory>=24G` finds what is called "24 GB". */
function boxSize(size: number): number {
  return BOXES.find((box) => size < box && size >= BOX_SHARE * box && box - size > 0.5) ?? Math.round(size);
}

/** "8 × H100 80 GB", or several models, most first; of the GPUs that are counted. */
export function summarizeModels(gpus: Iterable<Named & Pick<GpuRow, 'counted'>>): string {
  const counts = new Map<string, number>();
  for (const gpu of gpus) {
    if (!gpu.counted) continue;
    const name = nominalModel(gpu);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts]
    .sort((a, b) => b[1] - a[1])
    .map(([name, count]) => `${count} × ${name}`)
    .join(', ');
}
