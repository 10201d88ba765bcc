/*
 * A stand-in for NVIDIA's libnvidia-ml.so.1, driven by a text file.
 *
 *   cc -shared -fPIC -O1 -Wall -Wextra -Werror -Wl,-soname,libnvidia-ml.so.1 -o libnvidia-ml.so.1 nvml.c -lpthread
 *
 * GPUBOARD_FAKE_NVML        the scenario file; looked at again on every call, so a test may replace it (by rename)
 *                           while a process runs. Without it, or if it cannot be read: DRIVER_NOT_LOADED.
 * GPUBOARD_FAKE_NVML_CALLS  optional: a file that gets the name of each called function, one per line.
 * Both variables are read by nvmlInit.
 *
 * The scenario: one statement per line. Indentation is free, unknown lines are ignored, `#` at the start of a word
 * starts a comment. Values run to the end of the line and know the escapes \xNN (any byte) and \\. Numbers may be
 * decimal or 0x hexadecimal. `na` instead of a value, or `na KEY`, makes the reading NOT_SUPPORTED.
 *
 *   driver 535.104.05           versions; cuda is 1000 * major + 10 * minor
 *   cuda 12020
 *   error FUNCTION CODE         the function returns this NVML code (18 = driver/library mismatch, 9 = no driver ...)
 *   hang FUNCTION               the function does not return until the scenario no longer says so
 *   delay FUNCTION MILLISECONDS
 *   gpu NUMBER                  starts a GPU. Its NVML index is its position in the file; NUMBER only makes the
 *                               default uuid, bus id and minor number, so dropping a GPU shifts the indexes behind it
 *     uuid, name, serial, vbios, pci_bus_id           text
 *     memory_total, temperature, ...                  numbers: see ALL_KEYS in scenario.h for all of them and their units
 *     lost                      every call on its handle, or for its handle, returns GPU_IS_LOST (its MIG devices too)
 *     error / hang / delay      as above, for calls on this GPU's handle only
 *     process PID BYTES KIND [NAME]      BYTES may be `na`; KIND is compute, graphics or both
 *     mig NUMBER                starts a MIG device of this GPU at this MIG index; the GPU needs `mig_mode 1`
 *       uuid, profile, memory_total, gpu_instance, compute_instance, gpu_slices, process ...
 *
 * FUNCTION is an exported name and means just that one, or the name without `_v2`/`_v3` and then means all its
 * versions; see `aliases` for the few that changed their name otherwise. `*` means every function: for a GPU, every
 * one that takes its handle (the functions that look the handle up must be named).
 *
 * A handle stands for a UUID. Once that UUID is no longer in the scenario the handle answers GPU_IS_LOST for ever
 * (or until it comes back). Nothing sleeps while holding the lock, so a hang stops only the thread that asked.
 */
#define _GNU_SOURCE
#include <time.h>

#include "scenario.h"

enum { SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7,
       DRIVER_NOT_LOADED = 9, GPU_IS_LOST = 15, OUT_OF_MEMORY = 20, VERSION_MISMATCH = 25 };
enum { BUS_ID_SIZE = 32, MAX_HANDLES = 1024, MAX_MIG = 7, HANG_POLL_MILLISECONDS = 20, SAMPLING_MICROSECONDS = 167000 };
#define VERSION(structure, number) (unsigned)(sizeof(structure) | (number) << 24)

struct handle { char uuid[UUID_SIZE]; };

static int initialized, calls_file = -1;
static struct handle handles[MAX_HANDLES]; /* guarded by `lock`; entries never change once made */
static size_t handle_count;

/* ---- one call: find the device, obey the rules ----------------------------------------------------------------- */

/* Old and new names of one question; a rule that gives the second means both. */
static const char *const aliases[][2] = {
    {"nvmlInit", "nvmlInit_v2"},
    {"nvmlInitWithFlags", "nvmlInit_v2"},
    {"nvmlDeviceGetTemperatureV", "nvmlDeviceGetTemperature"},
    {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"},
};

struct target { enum { SYSTEM, HANDLE, INDEX, UUID, BUS } by; const void *handle; unsigned index; const char *text; };
struct call { struct scenario *s; const struct device *device; int code; };

static const struct device *parent_of(const struct scenario *s, const struct device *device)
{
    return device->parent == NO_DEVICE ? NULL : &s->devices[device->parent];
}

static bool names(const char *rule, const char *function)
{
    if (!strcmp(rule, function))
        return true;
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (!strcmp(function, aliases[i][0]))
            function = aliases[i][1];
    const char *version = strstr(function, "_v");
    return !strcmp(rule, function) ||
           (version && strlen(rule) == (size_t)(version - function) && !strncmp(rule, function, strlen(rule)));
}

static const struct rule *rule_for(const struct call *call, enum effect effect, const char *function, bool by_handle)
{
    for (size_t i = 0; i < call->s->rule_count; i++) {
        const struct rule *rule = &call->s->rules[i];
        bool global = rule->device == NO_DEVICE;
        bool mine = global || &call->s->devices[rule->device] == call->device;
        bool any = !strcmp(rule->function, "*") && (global || by_handle);
        if (rule->effect == effect && mine && (any || names(rule->function, function)))
            return rule;
    }
    return NULL;
}

static const char *bus_id_of(const struct device *device, char *buffer)
{
    if (device->text[BUS_ID])
        return device->text[BUS_ID];
    snprintf(buffer, BUS_ID_SIZE, "00000000:%02X:00.0", (device->number * 0x11 + 0x1B) & 0xFF);
    return buffer;
}

static bool same_bus_id(const char *one, const char *other)
{
    unsigned a[3], b[3];
    return sscanf(one, "%x:%x:%x", &a[0], &a[1], &a[2]) == 3 && sscanf(other, "%x:%x:%x", &b[0], &b[1], &b[2]) == 3 &&
           !memcmp(a, b, sizeof a);
}

static bool is_meant(const struct device *device, const struct target *target)
{
    char buffer[BUS_ID_SIZE];
    bool gpu = device->parent == NO_DEVICE;
    switch (target->by) {
    case HANDLE: return !strcmp(device->uuid, ((const struct handle *)target->handle)->uuid);
    case INDEX: return gpu && device->index == target->index;
    case UUID: return !strcmp(device->uuid, target->text);
    case BUS: return gpu && same_bus_id(bus_id_of(device, buffer), target->text);
    default: return false;
    }
}

/* Finds the device in the current scenario; sets call->code to what NVML says if there is none. */
static void find_device(struct call *call, const struct target *target)
{
    size_t offset = (size_t)((uintptr_t)target->handle - (uintptr_t)handles);
    bool real = offset < sizeof handles && offset % sizeof *handles == 0 && handles[offset / sizeof *handles].uuid[0];
    call->device = NULL;
    call->code = target->by == SYSTEM ? SUCCESS : INVALID_ARGUMENT;
    if (target->by == SYSTEM || (target->by == HANDLE && !real) || (target->by > INDEX && !target->text))
        return;
    for (size_t i = 0; i < call->s->device_count && !call->device; i++)
        if (is_meant(&call->s->devices[i], target))
            call->device = &call->s->devices[i];
    const struct device *parent = call->device ? parent_of(call->s, call->device) : NULL;
    if (call->device)
        call->code = call->device->lost || (parent && parent->lost) ? GPU_IS_LOST : SUCCESS;
    else if (target->by != INDEX)
        call->code = target->by == HANDLE ? GPU_IS_LOST : NOT_FOUND;
}

static void sleep_milliseconds(uint64_t milliseconds)
{
    struct timespec span = {(time_t)(milliseconds / 1000), (long)(milliseconds % 1000) * 1000000};
    while (nanosleep(&span, &span))
        ;
}

/* Every exported function starts here and ends with leave(). */
static struct call enter(const char *function, struct target target)
{
    struct call call = {.code = UNINITIALIZED};
    if (calls_file >= 0 && dprintf(calls_file, "%s\n", function) < 0)
        calls_file = -1;
    if (!__atomic_load_n(&initialized, __ATOMIC_RELAXED) && strncmp(function, "nvmlInit", 8) != 0)
        return call;
    for (;;) {
        call.s = acquire();
        find_device(&call, &target);
        if (!rule_for(&call, HANG, function, target.by == HANDLE))
            break;
        release(call.s);
        sleep_milliseconds(HANG_POLL_MILLISECONDS);
    }
    const struct rule *rule = rule_for(&call, DELAY, function, target.by == HANDLE);
    if (rule)
        sleep_milliseconds(rule->argument < 3600000 ? rule->argument : 3600000);
    if ((rule = rule_for(&call, ERROR, function, target.by == HANDLE)) && rule->argument)
        call.code = rule->argument < 999 ? (int)rule->argument : 999;
    else if (!call.s->content)
        call.code = DRIVER_NOT_LOADED;
    return call;
}

static int leave(struct call *call)
{
    if (call->s)
        release(call->s);
    return call->code;
}

/* The value of a key; when there is none the call becomes NOT_SUPPORTED. */
static uint64_t get(struct call *call, enum key key)
{
    const struct device *parent = parent_of(call->s, call->device);
    uint64_t value = call->device->value[key];
    if (value == UNSET && parent && keys[key].shared)
        value = parent->value[key];
    if (value == UNSET && (!parent || keys[key].shared))
        value = key == minor_number ? call->device->number : keys[key].value;
    if (value == NA || value == UNSET)
        call->code = NOT_SUPPORTED;
    return value;
}

static const char *get_text(const struct call *call, enum text text)
{
    const struct device *parent = parent_of(call->s, call->device);
    const char *value = call->device->text[text];
    if (!value && parent)
        value = parent->text[text];
    return value ? value : text == NAME ? "NVIDIA Fake GPU" : NA_TEXT;
}

static int write_text(const char *text, char *buffer, unsigned size)
{
    if (text == NA_TEXT || strlen(text) >= size)
        return text == NA_TEXT ? NOT_SUPPORTED : INSUFFICIENT_SIZE;
    memcpy(buffer, text, strlen(text) + 1);
    return SUCCESS;
}

/* The handle for a UUID, always the same one. */
static int intern(const char *uuid, struct handle **handle)
{
    size_t i = 0;
    pthread_mutex_lock(&lock);
    while (i < handle_count && strcmp(handles[i].uuid, uuid) != 0)
        i++;
    if (i == handle_count && i < MAX_HANDLES)
        memcpy(handles[handle_count++].uuid, uuid, UUID_SIZE);
    pthread_mutex_unlock(&lock);
    *handle = i < MAX_HANDLES ? &handles[i] : NULL;
    return *handle ? SUCCESS : OUT_OF_MEMORY;
}

/* ---- the library itself ---------------------------------------------------------------------------------------- */

/* One exported function: the body runs with the scenario and device at hand and `out` not null, and may set call.code. */
#define FUNCTION(name, target, parameters, out, ...)                                                                   \
    int name parameters                                                                                                \
    {                                                                                                                  \
        struct call call = enter(#name, target);                                                                       \
        if (call.code == SUCCESS && !(out))                                                                            \
            call.code = INVALID_ARGUMENT;                                                                              \
        if (call.code == SUCCESS) {                                                                                    \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
        return leave(&call);                                                                                           \
    }
#define WHOLE_SYSTEM ((struct target){.by = SYSTEM})
#define THE_DEVICE ((struct target){.by = HANDLE, .handle = handle})
#define DEVICE const void *handle

static void read_environment(void)
{
    const char *path = getenv("GPUBOARD_FAKE_NVML"), *calls = getenv("GPUBOARD_FAKE_NVML_CALLS");
    pthread_mutex_lock(&lock);
    snprintf(scenario_path, sizeof scenario_path, "%s", path ? path : "");
    if (calls && *calls && calls_file < 0)
        calls_file = open(calls, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    pthread_mutex_unlock(&lock);
}

#define START (read_environment(), WHOLE_SYSTEM)
#define COUNT(change) __atomic_add_fetch(&initialized, change, __ATOMIC_RELAXED);
FUNCTION(nvmlInit, START, (void), true, COUNT(1))
FUNCTION(nvmlInit_v2, START, (void), true, COUNT(1))
FUNCTION(nvmlInitWithFlags, START, (unsigned flags), true, (void)flags; COUNT(1))
FUNCTION(nvmlShutdown, WHOLE_SYSTEM, (void), true, COUNT(-1))

const char *nvmlErrorString(int code)
{
    static const char *const words[] = {
        "Success", "Uninitialized", "Invalid Argument", "Not Supported", "Insufficient Permissions",
        "Already Initialized", "Not Found", "Insufficient Size", "Insufficient External Power", "Driver Not Loaded",
        "Timeout", "Interrupt Request Issue", "NVML Shared Library Not Found", "Function Not Found",
        "Corrupted infoROM", "GPU is lost", "GPU requires reset", "GPU access blocked by the operating system",
        "Driver/library version mismatch", "In use by another client", "Insufficient Memory", "No data",
        "Requested vGPU operation not supported with ECC", "Insufficient resources", "Frequency not supported",
        "Argument version mismatch", "Requested functionality has been deprecated", "Not ready", "GPU not found",
        "Invalid state"};
    return code >= 0 && (size_t)code < sizeof words / sizeof *words ? words[code] : "Unknown Error";
}

#define SYSTEM_NUMBER(name, type, source) FUNCTION(name, WHOLE_SYSTEM, (type *value), value, *value = (type)source;)
SYSTEM_NUMBER(nvmlSystemGetCudaDriverVersion, int, call.s->cuda_version)
SYSTEM_NUMBER(nvmlSystemGetCudaDriverVersion_v2, int, call.s->cuda_version)
SYSTEM_NUMBER(nvmlDeviceGetCount, unsigned, call.s->gpu_count)
SYSTEM_NUMBER(nvmlDeviceGetCount_v2, unsigned, call.s->gpu_count)

FUNCTION(nvmlSystemGetDriverVersion, WHOLE_SYSTEM, (char *buffer, unsigned size), buffer,
    call.code = write_text(call.s->driver_version, buffer, size);)
FUNCTION(nvmlSystemGetNVMLVersion, WHOLE_SYSTEM, (char *buffer, unsigned size), buffer,
    char text[128];
    snprintf(text, sizeof text, "12.%s", call.s->driver_version);
    call.code = write_text(text, buffer, size);)

/* What the scenario calls the process, else what it calls itself. */
static int process_name(const struct scenario *s, unsigned pid, char *buffer, unsigned size)
{
    char text[1024];
    for (size_t i = 0; i < s->process_count; i++)
        if (s->processes[i].pid == pid && s->processes[i].name)
            return write_text(s->processes[i].name, buffer, size);
    snprintf(text, sizeof text, "/proc/%u/cmdline", pid);
    int file = open(text, O_RDONLY | O_CLOEXEC);
    ssize_t got = file >= 0 ? read(file, text, sizeof text - 1) : -1;
    if (file >= 0)
        close(file);
    text[got > 0 ? got : 0] = '\0';
    return got > 0 ? write_text(text, buffer, size) : NOT_FOUND;
}
FUNCTION(nvmlSystemGetProcessName, WHOLE_SYSTEM, (unsigned pid, char *buffer, unsigned size), buffer,
    call.code = process_name(call.s, pid, buffer, size);)

/* ---- handles --------------------------------------------------------------------------------------------------- */

#define LOOK_UP(name, kind, type, field)                                                                               \
    FUNCTION(name, ((struct target){.by = kind, .field = value}), (type value, struct handle **found), found,          \
        call.code = intern(call.device->uuid, found);)
LOOK_UP(nvmlDeviceGetHandleByIndex, INDEX, unsigned, index)
LOOK_UP(nvmlDeviceGetHandleByIndex_v2, INDEX, unsigned, index)
LOOK_UP(nvmlDeviceGetHandleByUUID, UUID, const char *, text)
LOOK_UP(nvmlDeviceGetHandleByPciBusId, BUS, const char *, text)
LOOK_UP(nvmlDeviceGetHandleByPciBusId_v2, BUS, const char *, text)

FUNCTION(nvmlDeviceGetMigDeviceHandleByIndex, THE_DEVICE, (DEVICE, unsigned index, struct handle **found), found,
    call.code = index < MAX_MIG ? NOT_FOUND : INVALID_ARGUMENT;
    for (size_t i = 0; i < call.s->device_count && call.code != SUCCESS; i++)
        if (parent_of(call.s, &call.s->devices[i]) == call.device && call.s->devices[i].index == index)
            call.code = intern(call.s->devices[i].uuid, found);)

FUNCTION(nvmlDeviceGetDeviceHandleFromMigDeviceHandle, THE_DEVICE, (DEVICE, struct handle **found), found,
    const struct device *parent = parent_of(call.s, call.device);
    call.code = parent ? intern(parent->uuid, found) : INVALID_ARGUMENT;)

/* ---- readings -------------------------------------------------------------------------------------------------- */

#define READING(name, type, source) FUNCTION(name, THE_DEVICE, (DEVICE, type *value), value, *value = (type)(source);)
READING(nvmlDeviceGetIndex, unsigned, call.device->index)
READING(nvmlDeviceIsMigDeviceHandle, unsigned, call.device->parent != NO_DEVICE)
READING(nvmlDeviceGetMaxMigDeviceCount, unsigned, call.device->value[mig_mode] <= 1 ? MAX_MIG : 0)
READING(nvmlDeviceGetFanSpeed, unsigned, get(&call, fan))
READING(nvmlDeviceGetPowerUsage, unsigned, get(&call, power_milliwatts))
READING(nvmlDeviceGetEnforcedPowerLimit, unsigned, get(&call, power_limit_milliwatts))
READING(nvmlDeviceGetPowerManagementLimit, unsigned, get(&call, power_limit_milliwatts))
READING(nvmlDeviceGetPowerManagementDefaultLimit, unsigned, get(&call, power_limit_milliwatts))
READING(nvmlDeviceGetPerformanceState, unsigned, get(&call, performance_state))
READING(nvmlDeviceGetPersistenceMode, unsigned, get(&call, persistence_mode))
READING(nvmlDeviceGetCurrPcieLinkGeneration, unsigned, get(&call, pcie_generation))
READING(nvmlDeviceGetCurrPcieLinkWidth, unsigned, get(&call, pcie_width))
READING(nvmlDeviceGetMaxPcieLinkGeneration, unsigned, get(&call, pcie_generation_max))
READING(nvmlDeviceGetMaxPcieLinkWidth, unsigned, get(&call, pcie_width_max))
READING(nvmlDeviceGetMinorNumber, unsigned, get(&call, minor_number))
READING(nvmlDeviceGetDisplayActive, unsigned, get(&call, display_active))
READING(nvmlDeviceGetDisplayMode, unsigned, get(&call, display_mode))
READING(nvmlDeviceGetBrand, unsigned, get(&call, brand))
READING(nvmlDeviceGetComputeMode, unsigned, get(&call, compute_mode))
READING(nvmlDeviceGetGpuInstanceId, unsigned, get(&call, gpu_instance))
READING(nvmlDeviceGetComputeInstanceId, unsigned, get(&call, compute_instance))
READING(nvmlDeviceGetCurrentClocksThrottleReasons, uint64_t, get(&call, throttle_reasons))
READING(nvmlDeviceGetCurrentClocksEventReasons, uint64_t, get(&call, throttle_reasons))

/* One function for several neighbouring keys. */
#define CHOICE(name, first, count)                                                                                     \
    FUNCTION(name, THE_DEVICE, (DEVICE, unsigned which, unsigned *value), value && which < (count),                    \
        *value = (unsigned)get(&call, (first) + which);)
CHOICE(nvmlDeviceGetClockInfo, clock_graphics, 4)
CHOICE(nvmlDeviceGetMaxClockInfo, max_clock_graphics, 4)
CHOICE(nvmlDeviceGetPcieThroughput, pcie_tx, 2)
CHOICE(nvmlDeviceGetTemperature, temperature, 1)

FUNCTION(nvmlDeviceGetTotalEccErrors, THE_DEVICE, (DEVICE, unsigned uncorrected, unsigned aggregate, uint64_t *value),
    value && uncorrected < 2 && aggregate < 2,
    *value = get(&call, ecc_corrected_volatile + 2 * uncorrected + aggregate);)

FUNCTION(nvmlDeviceGetNvLinkState, THE_DEVICE, (DEVICE, unsigned link, unsigned *active), active,
    if (link >= get(&call, nvlinks) && call.code == SUCCESS)
        call.code = INVALID_ARGUMENT;
    *active = link < get(&call, nvlinks_active);)

#define PAIR(name, type, one, two)                                                                                     \
    FUNCTION(name, THE_DEVICE, (DEVICE, type *first, type *second), first && second,                                   \
        *first = (type)(one);                                                                                          \
        *second = (type)(two);)
PAIR(nvmlDeviceGetEncoderUtilization, unsigned, get(&call, encoder_utilization), SAMPLING_MICROSECONDS)
PAIR(nvmlDeviceGetDecoderUtilization, unsigned, get(&call, decoder_utilization), SAMPLING_MICROSECONDS)
PAIR(nvmlDeviceGetEccMode, unsigned, get(&call, ecc_mode), get(&call, ecc_mode))
PAIR(nvmlDeviceGetMigMode, unsigned, get(&call, mig_mode), get(&call, mig_mode))
PAIR(nvmlDeviceGetCudaComputeCapability, int, get(&call, compute_capability) / 10, get(&call, compute_capability) % 10)

/* Windows has driver models. We have no NVLink, which is what peers ask the fields for. */
PAIR(nvmlDeviceGetDriverModel, unsigned, call.code = NOT_SUPPORTED, 0)
PAIR(nvmlDeviceGetDriverModel_v2, unsigned, call.code = NOT_SUPPORTED, 0)
struct field_value { unsigned field, scope; int64_t timestamp, latency; unsigned type, code; uint64_t value; };
FUNCTION(nvmlDeviceGetFieldValues, THE_DEVICE, (DEVICE, int count, struct field_value *values), values && count > 0,
    for (int i = 0; i < count; i++)
        values[i].code = NOT_SUPPORTED;)

FUNCTION(nvmlDeviceGetUtilizationRates, THE_DEVICE, (DEVICE, unsigned rates[2]), rates,
    rates[0] = (unsigned)get(&call, utilization);
    rates[1] = (unsigned)get(&call, memory_utilization);)

struct temperature { unsigned version, sensor; int celsius; };
FUNCTION(nvmlDeviceGetTemperatureV, THE_DEVICE, (DEVICE, struct temperature *reading), reading && !reading->sensor,
    reading->celsius = (int)get(&call, temperature);
    if (reading->version != VERSION(*reading, 1))
        call.code = VERSION_MISMATCH;)

struct memory { uint64_t total, free, used; };
struct memory_v2 { unsigned version; uint64_t total, reserved, free, used; };
static uint64_t rest(uint64_t total, uint64_t used) { return total > used ? total - used : 0; }

FUNCTION(nvmlDeviceGetMemoryInfo, THE_DEVICE, (DEVICE, struct memory *memory), memory,
    uint64_t total = get(&call, memory_total);
    uint64_t used = get(&call, memory_used) + get(&call, memory_reserved);
    *memory = (struct memory){total, rest(total, used), used};)

FUNCTION(nvmlDeviceGetMemoryInfo_v2, THE_DEVICE, (DEVICE, struct memory_v2 *memory), memory,
    uint64_t total = get(&call, memory_total);
    uint64_t used = get(&call, memory_used);
    uint64_t reserved = get(&call, memory_reserved);
    if (memory->version != VERSION(*memory, 2))
        call.code = VERSION_MISMATCH;
    else
        *memory = (struct memory_v2){memory->version, total, reserved, rest(total, used + reserved), used};)

FUNCTION(nvmlDeviceGetBAR1MemoryInfo, THE_DEVICE, (DEVICE, struct memory *memory), memory,
    uint64_t total = get(&call, bar1_total);
    uint64_t used = get(&call, bar1_used);
    *memory = (struct memory){total, rest(total, used), used};)

struct attributes { unsigned multiprocessors, copy_engines, decoders, encoders, jpegs, ofas, gpu_slices, compute_slices;
                    uint64_t memory_megabytes; };
FUNCTION(nvmlDeviceGetAttributes_v2, THE_DEVICE, (DEVICE, struct attributes *attributes), attributes,
    *attributes = (struct attributes){.multiprocessors = (unsigned)get(&call, multiprocessors),
                                      .copy_engines = (unsigned)get(&call, gpu_slices),
                                      .gpu_slices = (unsigned)get(&call, gpu_slices),
                                      .compute_slices = (unsigned)get(&call, compute_slices),
                                      .memory_megabytes = get(&call, memory_total) >> 20};)

struct pci_info { char legacy[16]; unsigned domain, bus, device, device_id, subsystem_id; char bus_id[BUS_ID_SIZE]; };
static void tell_pci(struct call *call, struct pci_info *info)
{
    const struct device *parent = parent_of(call->s, call->device);
    char buffer[BUS_ID_SIZE];
    *info = (struct pci_info){.device_id = (unsigned)get(call, pci_device_id),
                              .subsystem_id = (unsigned)get(call, pci_subsystem_id)};
    sscanf(bus_id_of(parent ? parent : call->device, buffer), "%x:%x:%x", &info->domain, &info->bus, &info->device);
    info->bus &= 0xFF;
    info->device &= 0xFF;
    snprintf(info->legacy, sizeof info->legacy, "%04X:%02X:%02X.0", info->domain & 0xFFFF, info->bus, info->device);
    snprintf(info->bus_id, sizeof info->bus_id, "%08X:%02X:%02X.0", info->domain, info->bus, info->device);
}
FUNCTION(nvmlDeviceGetPciInfo, THE_DEVICE, (DEVICE, struct pci_info *info), info, tell_pci(&call, info);)
FUNCTION(nvmlDeviceGetPciInfo_v3, THE_DEVICE, (DEVICE, struct pci_info *info), info, tell_pci(&call, info);)

#define TEXT(name, source)                                                                                             \
    FUNCTION(name, THE_DEVICE, (DEVICE, char *buffer, unsigned size), buffer,                                          \
        call.code = write_text(source, buffer, size);)
TEXT(nvmlDeviceGetUUID, call.device->uuid)
TEXT(nvmlDeviceGetSerial, get_text(&call, SERIAL))
TEXT(nvmlDeviceGetVbiosVersion, get_text(&call, VBIOS))

FUNCTION(nvmlDeviceGetName, THE_DEVICE, (DEVICE, char *buffer, unsigned size), buffer,
    char text[512];
    const char *profile = call.device->text[PROFILE];
    bool own = call.device->parent == NO_DEVICE || call.device->text[NAME] || !profile;
    snprintf(text, sizeof text, own ? "%s" : "%s MIG %s", get_text(&call, NAME), profile);
    call.code = write_text(text, buffer, size);)

/* ---- processes ------------------------------------------------------------------------------------------------- */

struct process_v1 { unsigned pid; uint64_t memory; };
struct process_v2 { unsigned pid; uint64_t memory; unsigned gpu_instance, compute_instance; }; /* v3 is the same */
struct sample { unsigned pid; uint64_t microseconds; unsigned sm, memory, encoder, decoder; };

/* The next process of this kind on the device of this call or on its MIG devices. */
static const struct process *next_process(const struct call *call, size_t *at, bool compute, bool graphics)
{
    while (*at < call->s->process_count) {
        const struct process *process = &call->s->processes[(*at)++];
        const struct device *where = &call->s->devices[process->device];
        if ((where == call->device || parent_of(call->s, where) == call->device) &&
            ((compute && process->compute) || (graphics && process->graphics)))
            return process;
    }
    return NULL;
}

/* Fills `out` with entries of `size` bytes; without enough room it only tells how many there are. */
static int list_processes(const struct call *call, bool compute, unsigned *count, void *out, size_t size)
{
    unsigned found = 0, room = out ? *count : 0;
    const struct process *process;
    for (size_t at = 0; (process = next_process(call, &at, compute, !compute)); found++) {
        const struct device *where = &call->s->devices[process->device];
        bool mig = where->parent != NO_DEVICE;
        struct process_v2 entry = {process->pid, process->memory, mig ? (unsigned)where->value[gpu_instance] : UINT32_MAX,
                                   mig ? (unsigned)where->value[compute_instance] : UINT32_MAX};
        if (found < room)
            memcpy((char *)out + found * size, &entry, size);
    }
    *count = found;
    return found > room ? INSUFFICIENT_SIZE : SUCCESS;
}

#define PROCESSES(name, compute, type)                                                                                 \
    FUNCTION(name, THE_DEVICE, (DEVICE, unsigned *count, struct type *out), count,                                     \
        call.code = list_processes(&call, compute, count, out, sizeof *out);)
PROCESSES(nvmlDeviceGetComputeRunningProcesses, true, process_v1)
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v2, true, process_v2)
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3, true, process_v2)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses, false, process_v1)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2, false, process_v2)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3, false, process_v2)

/* Each process gets its equal share of the GPU's utilisation, as of now. */
static int share_utilization(struct call *call, struct sample *out, unsigned *count)
{
    unsigned found = 0, room = out ? *count : 0, gpu = (unsigned)get(call, utilization);
    unsigned memory = (unsigned)get(call, memory_utilization);
    struct timespec now;
    const struct process *process;
    for (size_t at = 0; next_process(call, &at, true, true);)
        found++;
    clock_gettime(CLOCK_REALTIME, &now);
    for (size_t at = 0, i = 0; i < room && (process = next_process(call, &at, true, true)); i++)
        out[i] = (struct sample){process->pid, (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000,
                                 gpu / found, memory / found, 0, 0};
    *count = found;
    return call->code ? call->code : !found ? NOT_FOUND : found > room ? INSUFFICIENT_SIZE : SUCCESS;
}
FUNCTION(nvmlDeviceGetProcessUtilization, THE_DEVICE,
    (DEVICE, struct sample *out, unsigned *count, uint64_t since), count,
    (void)since;
    call.code = share_utilization(&call, out, count);)
