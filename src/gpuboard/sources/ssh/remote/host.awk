# The machine around the GPUs.

# What does not change while we look.
function learn(line) {
  boot = first(proc "/sys/kernel/random/boot_id");
  kernel = first(proc "/sys/kernel/osrelease");
  host = first(proc "/sys/kernel/hostname");
  while ((getline line < "/etc/os-release") > 0) {
    if (sub(/^PRETTY_NAME=/, "", line)) { gsub(/"/, "", line); distribution = line; }
  }
  close("/etc/os-release");
  cpus = ask("getconf _NPROCESSORS_ONLN 2>/dev/null || nproc");
  ticks = ask("getconf CLK_TCK") + 0;
  if (ticks < 1) ticks = 100;
  while ((getline line < (proc "/stat")) > 0) if (sub(/^btime /, "", line)) { booted = line; break; }
  close(proc "/stat");
  if (system("timeout 3 true >/dev/null 2>&1") == 0) patience = "timeout 3 ";
  # Only pids of the machine itself are those that the driver names; in a container they are others.
  line = ask("readlink " proc "/self/ns/pid");
  sees_all = line == "" || line == "pid:[4026531836]";
  lists_children = (getline line < (proc "/1/task/1/children")) >= 0;
  close(proc "/1/task/1/children");
}

function put_host(line, words) {
  put("sent " uptime());
  put("time " ask("date +%s"));
  put("boot " boot);
  put("kernel " kernel);
  put("hostname " host);
  put("system " distribution);
  put("cpus " cpus);
  put("load " first(proc "/loadavg"));
  while ((getline line < (proc "/meminfo")) > 0) {
    split(line, words, " ");
    if (words[1] == "MemTotal:") put("total " words[2]);
    if (words[1] == "MemAvailable:") { put("available " words[2]); break; }
  }
  close(proc "/meminfo");
}

# Addresses and disks, looked at now and then. Network disks hang when their server does: they are left out.
function look_around(command, line, words) {
  facts = 0;
  command = "ip -o addr";
  while ((command | getline line) > 0) {
    split(line, words, " ");
    if (words[3] ~ /^inet/) fact[++facts] = "address " words[2] " " words[4];
  }
  close(command);
  if (left_behind("df")) return;
  doing("df");
  command = "df -P -k " mounts();
  while ((command | getline line) > 0) {
    if (split(line, words, " ") == 6 && words[2] ~ /^[0-9]+$/) {
      fact[++facts] = "disk " words[2] " " words[3] " " words[6];
    }
  }
  close(command);
}

function mounts(line, words, seen, places, count) {
  places = "/";
  count = 1;
  while ((getline line < (proc "/mounts")) > 0 && count < 16) {
    split(line, words, " ");
    if (words[1] !~ /^\/dev\// && words[3] != "zfs") continue;
    if (words[1] ~ /^\/dev\/loop/ || words[3] ~ /^(squashfs|iso9660|udf|erofs|fuse.*)$/) continue;
    if (words[2] == "/") seen[words[1]] = 1;
    # No shell ever sees a mount point that means something to it.
    if ((words[1] in seen) || words[2] !~ /^\/[A-Za-z0-9._\/+:@-]*$/) continue;
    seen[words[1]] = 1;
    places = places " " words[2];
    count++;
  }
  close(proc "/mounts");
  return places;
}

# Find one that an earlier sample of ours left waiting: beside it, no other is started. It is known by its name, or
# by the shell that asks it, where a wrapper has another name.
function left_behind(name, mark, command, file, age, words, found, is_shell) {
  found = "";
  command = "grep -lsx -e " name (mark == "" ? "" : " -e sh") " " proc "/[0-9]*/comm";
  while ((command | getline file) > 0) {
    is_shell = mark != "" && first(file) == "sh";
    sub(/\/comm$/, "", file);
    if (stat_of(file, words) < 20 || uid_of(file) != own) continue;
    age = int(uptime() - words[20] / ticks);
    if (age < grace) continue;
    if (is_shell) { if (system("grep -qs " mark " " file "/cmdline") != 0) continue; }
    else if (words[1] != "D" && system("grep -qs gpuboard- " proc "/" words[2] "/cmdline") != 0) continue;
    sub(/.*\//, "", file);
    if (is_shell == 0 || found == "") found = file " " age " " words[1];
    # Asked to end, never forced: killing a process inside the driver has frozen GPUs. A shell of ours goes with
    # all that it started.
    if (age >= 60) system("kill -s TERM -- " (is_shell && words[3] != own_group ? "-" words[3] : file));
  }
  close(command);
  return found;
}
