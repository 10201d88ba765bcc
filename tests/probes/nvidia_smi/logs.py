"""Logs as `nvidia-smi -q -x` of different years writes them, cut down to what matters."""

NEW_HEAD = """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v13.dtd">
<nvidia_smi_log>
	<timestamp>Sat Mar  7 10:00:00 2026</timestamp>
	<driver_version>590.44.01</driver_version>
	<cuda_version>13.1</cuda_version>
	<attached_gpus>2</attached_gpus>
"""
TAIL = "\n</nvidia_smi_log>\n"
NO_PROCESSES = "<processes>\n\t\t</processes>"


def process(
    pid: object, name: str, *, kind: str = "C", memory: str = "512 MiB", instance: str = "N/A"
) -> str:
    """One process of a new driver."""
    return f"""
			<process_info>
				<gpu_instance_id>{instance}</gpu_instance_id>
				<compute_instance_id>{"N/A" if instance == "N/A" else 0}</compute_instance_id>
				<pid>{pid}</pid>
				<type>{kind}</type>
				<process_name>{name}</process_name>
				<used_memory>{memory}</used_memory>
			</process_info>"""


def new_gpu(number: int = 0, *, inside: str = NO_PROCESSES, mig: str = "None") -> str:
    """One GPU of a driver of 2025, with the texts it gives for what is gone or unsupported."""
    return f"""	<gpu id="00000000:0{number + 1}:00.0">
		<product_name>NVIDIA H100 80GB HBM3</product_name>
		<display_mode>Requested functionality has been deprecated</display_mode>
		<persistence_mode>Enabled</persistence_mode>
		<mig_mode>
			<current_mig>{"Disabled" if mig == "None" else "Enabled"}</current_mig>
		</mig_mode>
		<mig_devices>
			{mig}
		</mig_devices>
		<uuid>GPU-0000000{number}-1111-2222-3333-444444444444</uuid>
		<gpu_reset_status>
			<reset_required>Requested functionality has been deprecated</reset_required>
		</gpu_reset_status>
		<gpu_recovery_action>None</gpu_recovery_action>
		<pci>
			<pci_bus_id>00000000:0{number + 1}:00.0</pci_bus_id>
			<pci_gpu_link_info>
				<pcie_gen>
					<max_link_gen>5</max_link_gen>
					<current_link_gen>5</current_link_gen>
				</pcie_gen>
				<link_widths>
					<current_link_width>16x</current_link_width>
				</link_widths>
			</pci_gpu_link_info>
		</pci>
		<fan_speed>N/A</fan_speed>
		<performance_state>P0</performance_state>
		<clocks_event_reasons>
			<clocks_event_reason_gpu_idle>Active</clocks_event_reason_gpu_idle>
			<clocks_event_reason_sw_power_cap>Active</clocks_event_reason_sw_power_cap>
			<clocks_event_reason_sw_thermal_slowdown>Not Active</clocks_event_reason_sw_thermal_slowdown>
		</clocks_event_reasons>
		<clocks_event_reasons_counters>
			<clocks_event_reasons_counters_sync_boost>42 us</clocks_event_reasons_counters_sync_boost>
		</clocks_event_reasons_counters>
		<fb_memory_usage>
			<total>81559 MiB</total>
			<reserved>479 MiB</reserved>
			<used>11125 MiB</used>
		</fb_memory_usage>
		<bar1_memory_usage>
			<total>131072 MiB</total>
			<used>1 MiB</used>
		</bar1_memory_usage>
		<utilization>
			<gpu_util>98 %</gpu_util>
			<memory_util>37 %</memory_util>
		</utilization>
		<ecc_mode>
			<current_ecc>Enabled</current_ecc>
		</ecc_mode>
		<ecc_errors>
			<volatile>
				<sram_correctable>1</sram_correctable>
				<sram_uncorrectable_parity>0</sram_uncorrectable_parity>
				<sram_uncorrectable_secded>0</sram_uncorrectable_secded>
				<dram_correctable>2</dram_correctable>
				<dram_uncorrectable>0</dram_uncorrectable>
			</volatile>
		</ecc_errors>
		<temperature>
			<gpu_temp>53 C</gpu_temp>
			<gpu_temp_max_tlimit_threshold>-7 C</gpu_temp_max_tlimit_threshold>
		</temperature>
		<gpu_power_readings>
			<power_state>Requested functionality has been deprecated</power_state>
			<average_power_draw>433.78 W</average_power_draw>
			<instant_power_draw>447.35 W</instant_power_draw>
			<current_power_limit>700.00 W</current_power_limit>
		</gpu_power_readings>
		<module_power_readings>
			<average_power_draw>900.00 W</average_power_draw>
		</module_power_readings>
		<clocks>
			<graphics_clock>1980 MHz</graphics_clock>
			<mem_clock>2619 MHz</mem_clock>
		</clocks>
		<max_clocks>
			<graphics_clock>2100 MHz</graphics_clock>
		</max_clocks>
		<supported_clocks>
			<supported_mem_clock>
				<value>2619 MHz</value>
				<supported_graphics_clock>1980 MHz</supported_graphics_clock>
			</supported_mem_clock>
		</supported_clocks>
		{inside}
		<accounted_processes>
			<process_info><pid>1</pid></process_info>
		</accounted_processes>
	</gpu>
"""


def mig_device(number: int, instance: int, *, uuid: str = "") -> str:
    """One MIG instance; most drivers leave its UUID out."""
    return f"""
			<mig_device>
				<index>{number}</index>
				<gpu_instance_id>{instance}</gpu_instance_id>
				<compute_instance_id>0</compute_instance_id>
				{uuid}
				<ecc_error_count>
					<volatile_count>
						<sram_uncorrectable>0</sram_uncorrectable>
					</volatile_count>
				</ecc_error_count>
				<fb_memory_usage>
					<total>40448 MiB</total>
					<used>{number + 9} MiB</used>
				</fb_memory_usage>
			</mig_device>"""


def log(*gpus: str) -> bytes:
    """A whole log with these GPUs."""
    return (NEW_HEAD + "".join(gpus) + TAIL).encode()


_JOBS = process(21198, "/usr/bin/python3", memory="7484 MiB") + process(900, "/usr/lib/xorg/Xorg", kind="G")
BUSY = f"<processes>{_JOBS}\n\t\t</processes>"
NEW = log(new_gpu(0, inside=BUSY), new_gpu(1))
MIG = log(
    new_gpu(
        0,
        mig=mig_device(0, 2) + mig_device(1, 9),
        inside=f"<processes>{process(77, './gpu_burn', instance='9')}</processes>",
    )
)

# A driver of 2016 on a consumer card: no declared DTD version that we know, other element names.
OLD = b"""<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v7.dtd">
<nvidia_smi_log>
	<timestamp>Tue Aug 23 10:00:00 2016</timestamp>
	<driver_version>367.35</driver_version>
	<attached_gpus>1</attached_gpus>
	<gpu id="0000:0D:00.0">
		<product_name>GeForce GTX 1080</product_name>
		<persistence_mode>Disabled</persistence_mode>
		<uuid>GPU-215abf8a-0000-0000-0000-000000000000</uuid>
		<pci>
			<pci_bus_id>0000:0D:00.0</pci_bus_id>
		</pci>
		<fan_speed>ERR!</fan_speed>
		<performance_state>P2</performance_state>
		<clocks_throttle_reasons>
			<clocks_throttle_reason_gpu_idle>Not Active</clocks_throttle_reason_gpu_idle>
			<clocks_throttle_reason_hw_slowdown>Active</clocks_throttle_reason_hw_slowdown>
		</clocks_throttle_reasons>
		<fb_memory_usage>
			<total>8113 MiB</total>
			<used>828 MiB</used>
		</fb_memory_usage>
		<utilization>
			<gpu_util>04 %</gpu_util>
			<memory_util>[Unknown Error]</memory_util>
		</utilization>
		<ecc_mode>
			<current_ecc>N/A</current_ecc>
		</ecc_mode>
		<ecc_errors>
			<volatile>
				<single_bit>
					<device_memory>0</device_memory>
					<total>3</total>
				</single_bit>
				<double_bit>
					<total>N/A</total>
				</double_bit>
			</volatile>
		</ecc_errors>
		<temperature>
			<gpu_temp>32 C</gpu_temp>
		</temperature>
		<power_readings>
			<power_state>P2</power_state>
			<power_draw>48.05 W</power_draw>
			<power_limit>180.00 W</power_limit>
			<enforced_power_limit>170.00 W</enforced_power_limit>
		</power_readings>
		<clocks>
			<graphics_clock>705 MHz</graphics_clock>
			<mem_clock>[Not Supported]</mem_clock>
		</clocks>
		<compute_processes>
			<process_info>
				<pid>5495</pid>
				<process_name>/opt/ansys/bin/ansys.e150</process_name>
				<used_memory>98 MiB</used_memory>
			</process_info>
		</compute_processes>
	</gpu>
</nvidia_smi_log>
"""
