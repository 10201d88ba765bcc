# The program and its script. Arguments stay here: they may hold anything, passwords too.

function program_of(pid, command, word, count, argument, name) {
  count = 0;
  command = "tr \"\\n\\000\" \"\\001\\n\" <" proc "/" pid "/cmdline";
  while (count < 64 && (command | getline word) > 0) if (word != "") argument[++count] = word;
  close(command);
  if (count == 0) return "";
  # Programs may write a whole sentence here: what follows the first word may be anything.
  name = argument[1];
  sub(/[ \t\001].*/, "", name);
  name = base(name);
  sub(/^-+/, "", name);
  return with_script(name, argument, count);
}

function base(path) { sub(/\/+$/, "", path); sub(/.*\//, "", path); return path; }

function with_script(name, argument, count, kind, i, word, sure) {
  if (is_launcher(name)) return launched(name, argument, 2, count);
  kind = name;
  sub(/[0-9.]+t?$/, "", kind);
  if (kind !~ /^(python|pypy|bash|dash|ksh|sh|zsh|perl|ruby|node|lua|julia|Rscript|R)$/) return name;
  sure = 1;
  for (i = 2; i <= count; i++) {
    word = argument[i];
    if (word !~ /^-./) return script(name, argument, i, count, sure);
    # A long option may take the next word as its value: then only an ending tells a script.
    if (word ~ /^--/) { if (word !~ /^--$|=/) sure = 0; continue; }
    if (kind !~ /^py/) {
      if (word ~ /^-[a-zA-Z]*[ceE]$/) return name " -" substr(word, length(word));
      sure = 0;
    }
    else if (word ~ /^-[WX]$/) i++;
    else if (word ~ /^-[a-bd-ln-zA-VYZ]*m/) return module(name, word, argument[i + 1]);
    else if (word ~ /^-[a-bd-ln-zA-VYZ]*c/) return name " -c";
  }
  return name;
}

function script(name, argument, i, count, sure, word) {
  word = argument[i];
  if (word ~ /[ \t\001=@?]/ || word == "-") return name;
  if (sure == 0 && word !~ /[.](py|pyc|pyz|sh|bash|zsh|pl|rb|js|mjs|cjs|ts|lua|jl|R|r)$/) return name;
  word = base(word);
  return is_launcher(word) ? launched(word, argument, i + 1, count) : name " " word;
}

function module(name, word, after) {
  sub(/^-[a-ln-zA-Z]*m/, "", word);
  if (word == "") word = after;
  return word ~ /^[A-Za-z_][A-Za-z0-9_.]*$/ ? name " -m " word : name " -m";
}

function is_launcher(name) { return name ~ /^(torchrun|deepspeed|accelerate|horovodrun|composer)$/; }

function launched(name, argument, i, count) {
  if (name == "accelerate" && argument[i] == "launch") name = name " launch";
  for (; i <= count; i++) {
    if (argument[i] ~ /^[^- \t\001][^ \t\001]*[.]py$/) return name " " base(argument[i]);
  }
  return name;
}
