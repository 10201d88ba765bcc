# What nvidia-smi says, without what nobody reads, and of process names only the program.

function ask_driver(command, line, until, text, pids, divided) {
  until = "";
  exit_code = "";
  divided = 0;
  split("", pids);
  doing("nvidia-smi");
  command = "nvidia-smi -q -x 2>&1; code=$?; echo; echo gpuboard-exit $code";
  while ((command | getline line) > 0) {
    if (line ~ /^gpuboard-exit /) { exit_code = substr(line, 15); break; }
    sub(/^[ \t]+/, "", line);
    if (line == "") continue;
    if (until != "") { if (index(line, until)) until = ""; continue; }
    if (line ~ /^<(supported_clocks|accounted_processes)>/) {
      until = line;
      sub(/>.*/, ">", until);
      sub(/</, "</", until);
      if (index(line, until)) until = "";
      continue;
    }
    if (line ~ /<process_name>/) {
      text = line;
      sub(/.*<process_name>/, "", text);
      if (index(text, "</process_name>") == 0) until = "</process_name>";
      line = "<process_name>" only_program(text) "</process_name>";
    }
    if (line ~ /^<pid>[0-9]+</) pids[line] = 1;
    if (line ~ /^<(mig_device>|current_mig>Enabled)/) divided = 1;
    bytes += length(line) + 1;
    if (bytes > 180000) { bytes -= length(line) + 1; exit_code = "cut"; break; }
    document[++documents] = line;
  }
  close(command);
  if (divided) put_list();
  doing("processes");
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
