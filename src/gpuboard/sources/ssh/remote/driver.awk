# What nvidia-smi says, as far as anybody reads it; of process names only the program.

# The elements that the board reads. All others stay here: a whole document is a hundred times as long.
function choose_elements(names, i, n) {
  n = split("nvidia_smi_log driver_version cuda_version gpu product_name uuid persistence_mode" \
    " mig_mode current_mig mig_devices mig_device index gpu_instance_id compute_instance_id" \
    " pci pci_bus_id pci_gpu_link_info pcie_gen current_link_gen link_widths current_link_width" \
    " gpu_reset_status reset_required gpu_recovery_action fan_speed performance_state" \
    " clocks_event_reasons clocks_throttle_reasons fb_memory_usage total used utilization gpu_util memory_util" \
    " ecc_mode current_ecc ecc_errors ecc_error_count volatile volatile_count single_bit double_bit" \
    " sram_correctable dram_correctable sram_uncorrectable sram_uncorrectable_parity" \
    " sram_uncorrectable_secded dram_uncorrectable temperature gpu_temp gpu_power_readings power_readings" \
    " power_draw average_power_draw instant_power_draw current_power_limit enforced_power_limit power_limit" \
    " clocks graphics_clock mem_clock processes compute_processes process_info pid type process_name" \
    " used_memory", names, " ");
  for (i = 1; i <= n; i++) chosen[names[i]] = 1;
}

function ask_driver(command, line, until, tag, pids, divided) {
  until = "";
  exit_code = "";
  divided = 0;
  split("", pids);
  doing("nvidia-smi");
  # By the first word the shell that asks is known again, whatever nvidia-smi is called there.
  command = ": " asking "; nvidia-smi -q -x 2>&1; code=$?; echo; echo gpuboard-exit $code";
  while ((command | getline line) > 0) {
    if (line ~ /^gpuboard-exit /) { exit_code = substr(line, 15); break; }
    sub(/^[ \t]+/, "", line);
    if (line == "") continue;
    if (until != "") { if (index(line, until)) until = ""; continue; }
    # A name has a line of its own; were it otherwise, arguments could slip through with the rest.
    if (index(line, "<process_name>") > 1) continue;
    if (line ~ /^<[a-zA-Z]/) {
      tag = line;
      sub(/[ >].*/, "", tag);
      tag = substr(tag, 2);
      if ((tag in chosen) == 0 && tag !~ /^clocks_(event|throttle)_reason_/) {
        if (index(line, "</" tag ">") == 0) until = "</" tag ">";
        continue;
      }
      # What a card cannot tell may as well be absent; a process without a type would be taken for a usual one.
      if (tag != "type" && line ~ />(N\/A|None|Requested functionality has been deprecated)<\//) continue;
      if (tag == "process_name") {
        if (index(line, "</process_name>") == 0) until = "</process_name>";
        line = "<process_name>" only_program(substr(line, 15)) "</process_name>";
      }
      if (tag == "pid") pids[line] = 1;
      if (tag == "mig_device" || line ~ /^<current_mig>Enabled/) divided = 1;
    }
    bytes += length(line) + 1;
    if (bytes > 180000) { bytes -= length(line) + 1; exit_code = "cut"; break; }
    document[++documents] = line;
  }
  close(command);
  if (divided) put_list();
  put_processes(pids);
}

# Some drivers put the whole command line here.
function only_program(text) {
  sub(/<\/process_name>.*/, "", text);
  if (text ~ /^\[[A-Za-z \/]*\]$/) return text;
  sub(/[ \t<].*/, "", text);
  return base(text);
}

# Older documents do not name MIG instances; this list does.
function put_list(command, line) {
  command = "nvidia-smi -L 2>/dev/null";
  while ((command | getline line) > 0 && size < 20000) put("list " line);
  close(command);
}
