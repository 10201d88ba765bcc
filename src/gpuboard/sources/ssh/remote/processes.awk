# Whose processes they are and what they are called.

function put_processes(pids, line, pid, key) {
  split("", used);
  for (line in pids) {
    pid = line;
    gsub(/[^0-9]/, "", pid);
    if (size < 60000) put_process(pid);
  }
  for (key in programs) if ((key in used) == 0) delete programs[key];
}

function put_process(pid, place, words, uid, key, child) {
  place = proc "/" pid;
  if (stat_of(place, words) < 20) {
    # One that is only hidden from us is alive.
    if (sees_all && ask("kill -0 " pid " 2>&1") ~ /[Nn]o such process/) put("process\tpid=" pid "\tstate=X");
    return;
  }
  uid = uid_of(place);
  key = pid " " words[20];
  used[key] = 1;
  # The command line of a process that hangs in the driver can hang its reader too.
  if ((key in programs) == 0 && words[1] !~ /[DZ]/) {
    doing("processes");
    programs[key] = program_of(pid);
  }
  child = lists_children ? first(place "/task/" pid "/children") : children[pid];
  put("process\tpid=" pid "\tstate=" words[1] "\tstarted=" sprintf("%.2f", booted + words[20] / ticks) \
    "\tuid=" uid "\tuser=" (uid == "" ? "" : user_of(uid)) "\tchildren=" substr(child, 1, 512) \
    "\tname=" name_of "\tprogram=" substr(programs[key], 1, 128));
}

# The name in brackets may hold anything, brackets too.
function stat_of(place, words, line, text) {
  text = "";
  while ((getline line < (place "/stat")) > 0) text = text " " line;
  close(place "/stat");
  return sub(/.*\) /, "", text) ? split(text, words, " ") : 0;
}

function uid_of(place, line, words) {
  name_of = "";
  words[2] = "";
  while ((getline line < (place "/status")) > 0) {
    if (line ~ /^Name:/) name_of = substr(line, 7);
    if (line ~ /^Uid:/) { split(line, words, " "); break; }
  }
  close(place "/status");
  return words[2];
}

function user_of(uid, line) {
  if ((uid in users) == 0) {
    doing("processes");
    line = ask(patience "getent passwd " uid);
    sub(/:.*/, "", line);
    if (line == "") line = ask(patience "id -nu " uid);
    users[uid] = line;
  }
  return users[uid];
}

# Who started whom, where the kernel does not list it.
function find_children(command, line, words) {
  split("", children);
  command = "grep -s ^PPid: " proc "/[0-9]*/status";
  while ((command | getline line) > 0) {
    gsub(/[^0-9]+/, " ", line);
    split(line, words, " ");
    children[words[2]] = children[words[2]] " " words[1];
  }
  close(command);
}
