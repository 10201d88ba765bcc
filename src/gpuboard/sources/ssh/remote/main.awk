# One frame per round: its kind, number and length, the body, and the number again.

function put(line) { body[++lines] = line; size += length(line) + 1; }

function ask(command, line) { line = ""; command | getline line; close(command); return line; }

function first(file, line) { line = ""; getline line < file; close(file); return line; }

function uptime(words) { split(first(proc "/uptime"), words, " "); return words[1]; }

# Said when it changes: mostly it is nvidia-smi, round after round.
function doing(what) {
  if (what == said) return;
  said = what;
  printf "\ngpuboard doing %s %s\n", what, uptime();
  fflush();
}

function send(kind, i, all) {
  sequence++;
  all = lines + documents;
  for (i = 1; i <= documents; i++) body[lines + i] = document[i];
  if (kind == "sample" && changes != "" && note_changes(all)) print_frame("change", changed, change, change_size);
  else print_frame(kind, all, body, size + bytes);
}

function print_frame(kind, count, text, length_of_it, i) {
  printf "\ngpuboard 1 %s %d %d\n", kind, sequence, length_of_it;
  for (i = 1; i <= count; i++) print text[i];
  printf "gpuboard end %d\n", sequence;
  fflush();
}

# Note which lines are not as in the sample before; say whether these alone are enough. Now and then all are sent.
function note_changes(all, i, is_like) {
  is_like = all == kept && round % 120 != 0;
  changed = 0; change_size = 0;
  for (i = 1; i <= all; i++) {
    # As text: what looks like a number is not to be compared as one.
    if (is_like && (body[i] "") != (before[i] "")) {
      change[++changed] = i " " body[i];
      change_size += length(change[changed]) + 1;
    }
    before[i] = body[i];
  }
  kept = all;
  return is_like && change_size < size + bytes;
}

function sample() {
  if (round % 12 == 0) { look_around(); if (lists_children == 0) find_children(); }
  if (round % 120 == 0) split("", users);
  begun = uptime();
  put("begun " begun);
  left = waiting ? left_behind("nvidia-smi", asking) : "";
  waiting = left != "";
  if (waiting == 0) ask_driver();
  for (i = 1; i <= facts; i++) put(fact[i]);
  put_host();
  put(waiting ? "waiting " left : "nvidia-smi " exit_code);
  send("sample");
}

# Whether the other part has written nothing since we last looked; also when that cannot be told.
function other_is_silent(line, now) {
  now = "";
  while ((getline line < (proc "/" other "/io")) > 0) if (line ~ /^wchar:/) now = line;
  close(proc "/" other "/io");
  if (now == "" || now == written) return 1;
  written = now;
  return 0;
}

BEGIN {
  proc = "/proc"; grace = 8;
  # Put together here, so that it stands in no command line but that of the shell that asks.
  asking = "gpuboard-" "asks";
  own = uid_of(proc "/self");
  stat_of(proc "/self", self);
  own_group = self[3];
  learn();
  choose_elements();
  waiting = 1;
  for (round = 0; ; round++) {
    lines = 0; size = 0; documents = 0; bytes = 0;
    put("interval " interval);
    if (part == "gpus") sample();
    else if (round == 0 || other_is_silent()) { put_host(); send("host"); }
    if (interval + 0 == 0) exit;
    # A driver that takes seconds is asked less often: at least half of the time it is left alone.
    pause = uptime() - begun;
    system("sleep " (part == "gpus" && pause > interval ? int(pause + 1) : interval));
  }
}
