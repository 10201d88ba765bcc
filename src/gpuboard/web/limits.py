"""Every limit on what strangers and agents may take from the board, with its reason.

docs/reference/limits.md tells people what happens at each of them.
"""

from typing import Final

# --- Requests -------------------------------------------------------------------------------------------

# A request fits into one packet; a slow line needs a second or two, whoever needs longer does so on purpose.
REQUEST_SECONDS: Final = 10.0
# All of a request that is no body: its head, the frames of its chunks, trailers.
MAX_HEAD_BYTES: Final = 64 * 1024
# As many as the library for WebSockets reads; a browser behind two proxies sends thirty. Trailers count too.
MAX_HEADERS: Final = 128
# The body of any request: a report fits in. And of what people fill in, or a program for them: a booking of
# many places with a long comment fits in.
MAX_BODY_BYTES: Final = 256 * 1024
MAX_FORM_BYTES: Final = 16 * 1024
# Requests that wait behind another one on the same connection; browsers send none ahead.
MAX_PIPELINED: Final = 8
# A page takes about ten requests, and a classroom behind one address opens it at once.
VISITS_PER_SECOND: Final = 100.0
VISITS_BURST: Final = 1000.0

# --- Answers --------------------------------------------------------------------------------------------

# How long somebody may take nothing of what we sent, and how little in that time counts as something.
TAKE_SECONDS: Final = 10.0
TAKE_BYTES: Final = 32 * 1024
# What of it may wait in the kernel: little for live frames, which are old soon.
SOCKET_SEND_BUFFER_BYTES: Final = 64 * 1024
ANSWER_SEND_BUFFER_BYTES: Final = 256 * 1024
# Answers that wait to be taken, of one address and of all.
MAX_UNTAKEN_BYTES_OF_ONE: Final = 32 * 1024**2
MAX_UNTAKEN_BYTES: Final = 128 * 1024**2

# --- The past -------------------------------------------------------------------------------------------

# Questions about the past, which are read from the disk: a page that opens asks a dozen, one on which
# somebody goes back in time four a second.
HISTORY_PER_SECOND: Final = 5.0
HISTORY_BURST: Final = 60.0
# Under way of one address, and of all; there are three threads that read, and one address has two of them.
MAX_HISTORY_OF_ONE: Final = 12
MAX_HISTORY: Final = 128
MAX_HISTORY_READ_FOR_ONE: Final = 2
# The processor's time for the questions of one address: four that ask without end take one core, no more.
HISTORY_CPU_SECONDS_PER_SECOND: Final = 0.25
HISTORY_CPU_SECONDS_BURST: Final = 5.0
# Values in one answer: some megabytes.
MAX_HISTORY_VALUES: Final = 500_000
MAX_HISTORY_POINTS: Final = 2000
# GPUs or nodes that one question names.
MAX_HISTORY_NAMED: Final = 64
MAX_HISTORY_ROWS: Final = 5000

# --- Connections ----------------------------------------------------------------------------------------

# Connections that are nobody's yet: requests, kept connections, handshakes. Agents that were let in, and open
# pages, have rooms of their own, so that no crowd here can keep them out.
MAX_VISITORS: Final = 1024
MAX_VISITORS_OF_ONE: Final = 128
# Beyond these, for addresses from which a good token has come: a large site's agents that all post at once.
AGENTS_RESERVE: Final = 256
# And beyond those, for addresses of people who are signed in; apart, so that neither takes from the other.
PEOPLE_RESERVE: Final = 128
# TLS that one address may begin: each costs the board up to two milliseconds. The agents of 64 nodes behind
# one address that post every two seconds, each on a new connection, are 32 a second; when the board is back
# they come at once, as a classroom does that opens the page.
TLS_PER_SECOND: Final = 50.0
TLS_BURST: Final = 500.0
# Open pages.
MAX_VIEWERS: Final = 2000
# More than a person has tabs, and far fewer than the board has room for.
MAX_VIEWERS_OF_ONE: Final = 64
# Addresses that are remembered: whoever has many makes us forget the oldest, not run out of memory.
MAX_REMEMBERED: Final = 4096

# --- WebSockets -----------------------------------------------------------------------------------------

# Until TLS is agreed on; and from the first byte until somebody is let in. A token may have to be looked up
# on a slow disk meanwhile.
HANDSHAKE_SECONDS: Final = 10.0
# A page has nothing to say: it answers our ping every 20 seconds, and takes its leave. Programs may ping us.
VIEWER_FRAMES_PER_SECOND: Final = 1.0
VIEWER_FRAMES_BURST: Final = 30.0
VIEWER_BYTES_PER_SECOND: Final = 256.0
VIEWER_BYTES_BURST: Final = 2048.0
# The board's time for reading that: what is dear in few bytes and few frames is cut by what it costs.
VIEWER_CPU_SECONDS_PER_SECOND: Final = 0.002
VIEWER_CPU_SECONDS_BURST: Final = 0.1
# Agents are slowed by their pace long before; beyond this it is no agent that speaks.
AGENT_FRAMES_PER_SECOND: Final = 50.0
AGENT_FRAMES_BURST: Final = 300.0
# So much is looked at in one go: what is hidden in it, in the smallest frames, takes a few milliseconds.
SLICE_BYTES: Final = 4096

# --- Nodes ----------------------------------------------------------------------------------------------

# Far above what an agent needs, far below what would disturb the others.
MESSAGES_PER_SECOND: Final = 20.0
MESSAGES_BURST: Final = 60.0
# The board's time that one node may take: a large report every two seconds takes a quarter of a
# percent. For what it takes at once all others wait, little by little.
CPU_SECONDS_PER_SECOND: Final = 0.02
CPU_SECONDS_BURST: Final = 0.2
# An honest agent says hello at once, and later something every few seconds.
HELLO_SECONDS: Final = 5.0
SILENT_SECONDS: Final = 600.0
# An agent whose line broke notices after half a minute; who is replaced more often has a rival.
REPLACEMENTS: Final = 3
REPLACEMENTS_SECONDS: Final = 60.0

# People who sign in from one node: a course that begins, and then one now and then.
VOUCHES_PER_SECOND: Final = 0.2
VOUCHES_BURST: Final = 60.0

# Visits to the provider that one address may begin: a classroom behind one address, and then some.
REDIRECTS_PER_SECOND: Final = 0.5
REDIRECTS_BURST: Final = 60.0

# --- Codes and tokens -----------------------------------------------------------------------------------

# Wrong ones that an address may show before its next wrong one is refused unseen; right ones never are.
TOKEN_FAILURES: Final = 20
TOKEN_FAILURES_SECONDS: Final = 60.0
CODE_FAILURES: Final = 10
CODE_FAILURES_SECONDS: Final = 900.0
