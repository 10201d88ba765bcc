/*
 * The scenario of the stand-in NVML: what it is made of, how it is parsed and how it stays current.
 * The format is described at the top of nvml.c.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { UUID_SIZE = 96, MAX_FILE = 1 << 20, NO_DEVICE = -1 };

#define NA UINT64_MAX /* also what NVML itself reports for a process whose memory it cannot tell */
#define UNSET (UINT64_MAX - 1)
static const char NA_TEXT[] = "na";

/* ---- what a device can tell ------------------------------------------------------------------------------------ */

/* key(name, what a GPU says when the scenario is silent). A MIG device then says NA, or for a shared(...) key what its
 * GPU says. Neighbours that NVML numbers (clocks, ECC counters, PCIe directions) are in NVML's order. */
#define ALL_KEYS(key, shared)                                                                                          \
    /* bytes; used is without reserved, which version 1 of the memory call adds to it */                               \
    key(memory_total, 16ull << 30) key(memory_used, 0) key(memory_reserved, 0)                                         \
    shared(bar1_total, 256ull << 20) shared(bar1_used, 1ull << 20)                                                     \
    /* percent */                                                                                                      \
    key(utilization, 0) key(memory_utilization, 0) key(encoder_utilization, 0) key(decoder_utilization, 0)             \
    key(fan, NA)                                                                                                       \
    /* celsius, milliwatts */                                                                                          \
    key(temperature, 30) key(power_milliwatts, 50000) key(power_limit_milliwatts, 300000)                              \
    /* MHz */                                                                                                          \
    key(clock_graphics, 300) key(clock_sm, 300) key(clock_memory, 405) key(clock_video, 540)                           \
    key(max_clock_graphics, 1980) key(max_clock_sm, 1980) key(max_clock_memory, 2619) key(max_clock_video, 1545)       \
    /* NVML's number (0 to 15) and bit mask */                                                                         \
    key(performance_state, 0) key(throttle_reasons, 0)                                                                 \
    /* 0 or 1, then counts */                                                                                          \
    shared(ecc_mode, NA) key(ecc_corrected_volatile, NA) key(ecc_corrected_aggregate, NA)                              \
    key(ecc_uncorrected_volatile, NA) key(ecc_uncorrected_aggregate, NA)                                               \
    /* generation, lanes, KB/s; the ids are device << 16 | vendor */                                                   \
    shared(pcie_generation, 4) shared(pcie_width, 16) shared(pcie_generation_max, 5) shared(pcie_width_max, 16)        \
    key(pcie_tx, 0) key(pcie_rx, 0) shared(pci_device_id, 0x233010DE) shared(pci_subsystem_id, 0x16C110DE)             \
    /* how many there are, and how many of them, the first ones, are active */                                         \
    key(nvlinks, NA) key(nvlinks_active, 0)                                                                            \
    /* 0 or 1; mig_mode na = this card has no MIG */                                                                   \
    shared(persistence_mode, 1) key(mig_mode, NA) key(display_active, 0) key(display_mode, 0)                          \
    /* numbers of NVML; compute_capability is 10 * major + minor */                                                    \
    key(minor_number, UNSET) shared(brand, 14) shared(compute_capability, 80) shared(compute_mode, 0)                  \
    /* for MIG devices */                                                                                              \
    key(gpu_instance, NA) key(compute_instance, NA) key(multiprocessors, NA) key(gpu_slices, NA)                       \
    key(compute_slices, NA)

#define AS_ENUM(name, value) name,
#define AS_KEY(name, value) {#name, value, false},
#define AS_SHARED_KEY(name, value) {#name, value, true},
enum key { ALL_KEYS(AS_ENUM, AS_ENUM) KEYS };
static const struct { const char *name; uint64_t value; bool shared; } keys[] = {ALL_KEYS(AS_KEY, AS_SHARED_KEY)};

enum text { NAME, SERIAL, VBIOS, BUS_ID, PROFILE, TEXTS };
static const char *const texts[TEXTS] = {"name", "serial", "vbios", "pci_bus_id", "profile"};

/* ---- the scenario, read-only once parsed; all texts point into its copy of the file --------------------------- */

struct device { char uuid[UUID_SIZE]; int parent; unsigned number, index; bool lost;
                const char *text[TEXTS]; uint64_t value[KEYS]; };
struct rule { enum effect { ERROR, HANG, DELAY } effect; const char *function; uint64_t argument; int device; };
struct process { unsigned pid; uint64_t memory; bool compute, graphics; const char *name; int device; };
struct scenario {
    unsigned users;
    int file; /* kept open so that the inode, by which we know the file, cannot be given to the next one */
    struct stat seen;
    char *content;
    const char *driver_version;
    uint64_t cuda_version;
    struct device *devices;
    struct rule *rules;
    struct process *processes;
    size_t device_count, gpu_count, rule_count, process_count;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all of the following */
static char scenario_path[4096];
static struct scenario *current;

/* Makes room for one more item; returns it zeroed. */
static void *push(void *vector, size_t *count, size_t size)
{
    void **items = vector;
    if ((*count & (*count - 1)) == 0 && !(*items = realloc(*items, (*count ? *count * 2 : 1) * size)))
        abort();
    return memset((char *)*items + size * (*count)++, 0, size);
}

static char *next_word(char **line)
{
    char *word = *line + strspn(*line, " \t\r");
    *line = word + strcspn(word, " \t\r");
    if (**line)
        *(*line)++ = '\0';
    return word;
}

static char *unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from; to++) {
        char digits[3] = {0};
        if (from[0] == '\\' && from[1] == 'x' && from[2] && from[3]) {
            *to = (char)strtol(memcpy(digits, from + 2, 2), NULL, 16);
            from += 4;
        } else {
            from += from[0] == '\\' && from[1] == '\\';
            *to = *from++;
        }
    }
    *to = '\0';
    return text;
}

static uint64_t number_or_na(const char *word, uint64_t fallback)
{
    char *end;
    uint64_t number = strtoull(word, &end, 0);
    if (!strcmp(word, NA_TEXT))
        return NA;
    return end == word || *end ? fallback : number;
}

static void add_device(struct scenario *s, bool mig, unsigned number)
{
    int parent = NO_DEVICE;
    if (mig && !s->device_count)
        return;
    if (mig) {
        parent = (int)s->device_count - 1;
        if (s->devices[parent].parent != NO_DEVICE)
            parent = s->devices[parent].parent;
    }
    struct device *device = push(&s->devices, &s->device_count, sizeof *device);
    device->parent = parent;
    device->number = number;
    device->index = mig ? number : (unsigned)s->gpu_count++;
    snprintf(device->uuid, UUID_SIZE, "%s-%08x-0000-4000-8000-%012x", mig ? "MIG" : "GPU",
             mig ? s->devices[parent].number : number, mig ? number + 1 : 0);
    for (int key = 0; key < KEYS; key++)
        device->value[key] = UNSET;
    if (mig)
        device->value[memory_used] = device->value[memory_reserved] = 0;
}

static void add_rule(struct scenario *s, enum effect effect, char *line)
{
    struct rule *rule = push(&s->rules, &s->rule_count, sizeof *rule);
    rule->effect = effect;
    rule->function = next_word(&line);
    rule->argument = number_or_na(next_word(&line), 0);
    rule->device = (int)s->device_count - 1;
}

static void add_process(struct scenario *s, char *line)
{
    uint64_t pid = number_or_na(next_word(&line), 0);
    uint64_t memory = number_or_na(next_word(&line), NA);
    const char *kind = next_word(&line), *name = unescape(line + strspn(line, " \t"));
    if (!pid || pid > INT32_MAX)
        return;
    bool graphics = !strcmp(kind, "graphics"), both = !strcmp(kind, "both");
    struct process *process = push(&s->processes, &s->process_count, sizeof *process);
    *process = (struct process){(unsigned)pid, memory, !graphics, graphics || both, *name ? name : NULL,
                                (int)s->device_count - 1};
}

static void set_value(struct device *device, const char *key, char *value)
{
    bool na = !strcmp(value, NA_TEXT);
    for (int text = 0; text < TEXTS; text++)
        if (!strcmp(key, texts[text]))
            device->text[text] = na ? NA_TEXT : unescape(value);
    for (int i = 0; i < KEYS; i++)
        if (!strcmp(key, keys[i].name))
            device->value[i] = number_or_na(value, device->value[i]);
    if (!strcmp(key, "uuid") && !na && *value)
        snprintf(device->uuid, UUID_SIZE, "%s", unescape(value));
}

static void parse_line(struct scenario *s, char *line)
{
    for (char *mark = line; (mark = strchr(mark, '#')); mark++)
        if (mark == line || mark[-1] == ' ' || mark[-1] == '\t') {
            *mark = '\0';
            break;
        }
    for (size_t length = strlen(line); length && strchr(" \t\r", line[length - 1]);)
        line[--length] = '\0';
    const char *key = next_word(&line);
    line += strspn(line, " \t");
    struct device *device = s->device_count ? &s->devices[s->device_count - 1] : NULL;

    if (!strcmp(key, "driver"))
        s->driver_version = unescape(line);
    else if (!strcmp(key, "cuda"))
        s->cuda_version = number_or_na(line, s->cuda_version);
    else if (!strcmp(key, "gpu") || !strcmp(key, "mig"))
        add_device(s, *key == 'm', (unsigned)number_or_na(line, s->gpu_count));
    else if (!strcmp(key, "error") || !strcmp(key, "hang") || !strcmp(key, "delay"))
        add_rule(s, *key == 'e' ? ERROR : *key == 'h' ? HANG : DELAY, line);
    else if (!device)
        return;
    else if (!strcmp(key, "lost"))
        device->lost = true;
    else if (!strcmp(key, "process"))
        add_process(s, line);
    else if (!strcmp(key, "na"))
        set_value(device, next_word(&line), (char *)NA_TEXT);
    else
        set_value(device, key, line);
}

static struct scenario *load(const char *path)
{
    struct scenario *s = calloc(1, sizeof *s);
    if (!s)
        abort();
    s->driver_version = "535.104.05";
    s->cuda_version = 12020;
    s->file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (s->file < 0 || fstat(s->file, &s->seen) || !S_ISREG(s->seen.st_mode))
        return s;
    size_t size = s->seen.st_size < MAX_FILE ? (size_t)s->seen.st_size : MAX_FILE;
    if (!(s->content = malloc(size + 1)))
        abort();
    ssize_t got = pread(s->file, s->content, size, 0);
    s->content[got > 0 ? got : 0] = '\0';
    for (ssize_t i = 0; i < got; i++)
        s->content[i] = s->content[i] ? s->content[i] : ' ';
    for (char *rest = s->content, *line; (line = strsep(&rest, "\n"));)
        parse_line(s, line);
    return s;
}

static void drop(struct scenario *s) /* with the lock held */
{
    if (!s || --s->users)
        return;
    if (s->file >= 0)
        close(s->file);
    free(s->devices);
    free(s->rules);
    free(s->processes);
    free(s->content);
    free(s);
}

static struct scenario *acquire(void)
{
    struct stat now = {0};
    pthread_mutex_lock(&lock);
    bool missing = stat(scenario_path, &now) != 0;
    const struct stat *seen = current ? &current->seen : NULL;
    if (!seen || missing != !current->content || seen->st_ino != now.st_ino || seen->st_dev != now.st_dev ||
        seen->st_size != now.st_size || seen->st_mtim.tv_sec != now.st_mtim.tv_sec ||
        seen->st_mtim.tv_nsec != now.st_mtim.tv_nsec) {
        struct scenario *fresh = load(scenario_path);
        fresh->users = 1;
        drop(current);
        current = fresh;
    }
    struct scenario *s = current;
    s->users++;
    pthread_mutex_unlock(&lock);
    return s;
}

static void release(struct scenario *s)
{
    pthread_mutex_lock(&lock);
    drop(s);
    pthread_mutex_unlock(&lock);
}
