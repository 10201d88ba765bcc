import type { GpuRow, GpuView } from '../../api/wire';
import type { Language } from '../../text/language.svelte';

type Fact = [string, string | null];

/** Everything the driver says about one GPU, in two columns: what it is, and how it is. */
export function gpuFacts(gpu: GpuRow, view: GpuView | null, language: Language): [Fact[], Fact[]] {
  const { say, number, memory } = language;
  const reading = view?.reading;
  const unit = (value: number | null | undefined, text: string) =>
    value == null ? null : `${number(value)} ${text}`;
  const yes = (value: boolean | null | undefined) => (value == null ? null : value ? say('on') : say('off'));
  const ecc =
    reading?.ecc_corrected_errors == null && reading?.ecc_uncorrected_errors == null
      ? yes(reading?.ecc_enabled)
      : say('eccValue', {
          corrected: number(reading.ecc_corrected_errors),
          uncorrected: number(reading.ecc_uncorrected_errors),
        });
  const pcie =
    reading?.pcie_bus_id == null
      ? null
      : reading.pcie_generation == null || reading.pcie_width == null
        ? reading.pcie_bus_id
        : say('pcieValue', {
            generation: reading.pcie_generation,
            width: reading.pcie_width,
            bus: reading.pcie_bus_id,
          });
  const links =
    reading?.nvlink_total == null
      ? null
      : say('linksValue', { active: number(reading.nvlink_active), total: number(reading.nvlink_total) });
  const parent = gpu.mig_parent_uuid === null ? null : say('migParent', { uuid: gpu.mig_parent_uuid });
  return [
    [
      [say('uuid'), reading?.uuid_is_synthetic ? `${gpu.uuid} ${say('synthetic')}` : gpu.uuid],
      [say('model'), reading?.model ?? gpu.model],
      [say('index'), gpu.label],
      [say('pcie'), pcie],
      [say('nvlink'), links],
      [say('ecc'), ecc],
      [say('persistence'), yes(reading?.persistence_mode)],
      ...(gpu.mig_profile || parent
        ? [[say('mig'), [gpu.mig_profile, parent].filter(Boolean).join(', ')] as Fact]
        : []),
    ],
    [
      [
        say('memory'),
        gpu.memory_total_bytes === null
          ? null
          : say('usedOf', { used: memory(gpu.memory_used_bytes), total: memory(gpu.memory_total_bytes) }),
      ],
      [say('memoryUse'), unit(reading?.memory_utilization_percent, '%')],
      [say('graphicsClock'), unit(reading?.graphics_clock_mhz, 'MHz')],
      [say('memoryClock'), unit(reading?.memory_clock_mhz, 'MHz')],
      [say('performanceState'), reading?.performance_state ?? null],
      [
        say('throttle'),
        reading?.throttle_reasons == null ? null : reading.throttle_reasons.join(', ') || say('none'),
      ],
      [say('fan'), unit(reading?.fan_percent, '%')],
    ],
  ];
}
