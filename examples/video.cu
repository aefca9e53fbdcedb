/* Frames of 1280x720 grey pixels, blurred and thresholded one after another, as cameras would deliver them: the host
 * fills a frame's buffer, the device works, the host reads the result and checks every byte of it.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *   video [--form FORM] [--frames N] [--slots N] [--feeds N] [--producers N] [--workers N] [--spin US]
 *         [--source real|none]
 *
 * serial-pageable  copy in, compute, copy out, wait, next frame; in ordinary memory
 * serial-pinned    the same in pinned memory
 * round            all slots are filled, each in a stream of its own; then the host waits for all of them
 * slot             the host waits for a slot only when it wants that one again
 * chain            one stream uploads, one computes, one downloads; events hand the frame on
 * race             slot, but nobody asks whether the slot's copy out has been made: weir check shows the line
 * pipe             the library (weir/pipe.h): a stream a slot; pipe-split: a stream a stage
 * pipe-graph       the library, each slot's work as a graph that is replayed; pipe-split-graph: the kernels alone
 *
 * --source none: filled once, read at the end: the device's part alone. --feeds N: each has a thread and slots of its own. */
#include <thread>
#include <vector>

#include "common.h"
#include "weir/pipe.h"

enum { WIDTH = 1280, HEIGHT = 720, PIXELS = WIDTH * HEIGHT, DISTINCT = 6, MAX_SLOTS = 16, MAX_FEEDS = 16 };
enum { TILE_X = 32, TILE_Y = 8, RADIUS = 2, LEVEL = 120 };

typedef unsigned char pixel;

/* 1 4 6 4 1: the binomial weights, a gaussian in integers. The sum over both directions is 256. */
__host__ __device__ inline int weight(int d)
{
    return d == 0 ? 6 : d == 1 || d == -1 ? 4 : 1;
}

__host__ __device__ inline int clamped(int v, int limit)
{
    return v < 0 ? 0 : v >= limit ? limit - 1 : v;
}

/* A block loads its tile with a rim into shared memory, blurs the rows of all of it, then the columns of its own part. */
__global__ void blur(const pixel *in, pixel *out)
{
    __shared__ pixel tile[TILE_Y + 2 * RADIUS][TILE_X + 2 * RADIUS];
    __shared__ unsigned short rows[TILE_Y + 2 * RADIUS][TILE_X];
    const int left = blockIdx.x * TILE_X - RADIUS, top = blockIdx.y * TILE_Y - RADIUS;
    const int thread = threadIdx.y * TILE_X + threadIdx.x;

    for (int i = thread; i < (TILE_Y + 2 * RADIUS) * (TILE_X + 2 * RADIUS); i += TILE_X * TILE_Y) {
        const int y = i / (TILE_X + 2 * RADIUS), x = i % (TILE_X + 2 * RADIUS);
        tile[y][x] = in[clamped(top + y, HEIGHT) * WIDTH + clamped(left + x, WIDTH)];
    }
    __syncthreads();
    for (int y = threadIdx.y; y < TILE_Y + 2 * RADIUS; y += TILE_Y) {
        int sum = 0;
        for (int d = -RADIUS; d <= RADIUS; d++)
            sum += weight(d) * tile[y][threadIdx.x + RADIUS + d];
        rows[y][threadIdx.x] = (unsigned short)sum;
    }
    __syncthreads();
    const int x = blockIdx.x * TILE_X + threadIdx.x, y = blockIdx.y * TILE_Y + threadIdx.y;
    int sum = 128;
    for (int d = -RADIUS; d <= RADIUS; d++)
        sum += weight(d) * rows[threadIdx.y + RADIUS + d][threadIdx.x];
    out[y * WIDTH + x] = (pixel)(sum >> 8);
}

/* Four pixels a thread: a byte a thread would be a quarter of what the memory can deliver. */
__global__ void threshold(pixel *image, int level)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= PIXELS / 4)
        return;
    uchar4 p = ((uchar4 *)image)[i];
    p.x = p.x > level ? 255 : 0;
    p.y = p.y > level ? 255 : 0;
    p.z = p.z > level ? 255 : 0;
    p.w = p.w > level ? 255 : 0;
    ((uchar4 *)image)[i] = p;
}

/* What the device must give, by the plainest code. */
static void reference(const pixel *in, pixel *out)
{
    std::vector<int> rows(PIXELS);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            int sum = 0;
            for (int d = -RADIUS; d <= RADIUS; d++)
                sum += weight(d) * in[y * WIDTH + clamped(x + d, WIDTH)];
            rows[y * WIDTH + x] = sum;
        }
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            int sum = 128;
            for (int d = -RADIUS; d <= RADIUS; d++)
                sum += weight(d) * rows[clamped(y + d, HEIGHT) * WIDTH + x];
            out[y * WIDTH + x] = (sum >> 8) > LEVEL ? 255 : 0;
        }
}

/* A moving ramp with noise on it: no two of the distinct frames are alike, and the threshold cuts through. */
static void draw(pixel *image, int number)
{
    unsigned noise = 12345u + 977u * (unsigned)number;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            noise = 1664525u * noise + 1013904223u;
            image[y * WIDTH + x] = (pixel)(((x + 37 * number) / 5 + y / 4 + (int)(noise >> 27)) & 255);
        }
}

static std::vector<pixel> source[DISTINCT], expected[DISTINCT];

struct options {
    const char *form;
    int frames, slots, feeds, producers, workers, spin;
    bool real; /* each frame is filled and read; else each slot's first and last */
};

static void compute(const pixel *in, pixel *out, cudaStream_t stream)
{
    const dim3 threads(TILE_X, TILE_Y), blocks(WIDTH / TILE_X, HEIGHT / TILE_Y);
    blur<<<blocks, threads, 0, stream>>>(in, out);
    threshold<<<(PIXELS / 4 + 255) / 256, 256, 0, stream>>>(out, LEVEL);
}

/* --- by hand --- */

struct slot {
    pixel *host_in, *host_out, *in, *out;
    cudaStream_t stream;
    cudaEvent_t uploaded, computed, done;
    int frame; /* in flight here, -1: none */
    int shown; /* what its input buffer holds, -1: nothing yet */
};

static void make_slot(slot &s, bool pinned)
{
    if (pinned) {
        CHECK(cudaMallocHost(&s.host_in, PIXELS));
        CHECK(cudaMallocHost(&s.host_out, PIXELS));
    } else {
        s.host_in = (pixel *)malloc(PIXELS);
        s.host_out = (pixel *)malloc(PIXELS);
    }
    CHECK(cudaMalloc(&s.in, PIXELS));
    CHECK(cudaMalloc(&s.out, PIXELS));
    CHECK(cudaStreamCreateWithFlags(&s.stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&s.uploaded, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&s.computed, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&s.done, cudaEventDisableTiming));
    s.frame = s.shown = -1;
}

static void free_slot(slot &s, bool pinned)
{
    if (pinned) {
        CHECK(cudaFreeHost(s.host_in));
        CHECK(cudaFreeHost(s.host_out));
    } else {
        free(s.host_in);
        free(s.host_out);
    }
    CHECK(cudaFree(s.in));
    CHECK(cudaFree(s.out));
    CHECK(cudaStreamDestroy(s.stream));
    CHECK(cudaEventDestroy(s.uploaded));
    CHECK(cudaEventDestroy(s.computed));
    CHECK(cudaEventDestroy(s.done));
}

/* Waits for the slot's frame and reads it. Returns 1 when it is wrong. */
static int collect(const options &o, slot &s)
{
    if (s.frame < 0)
        return 0;
    if (strcmp(o.form, "race"))
        CHECK(cudaEventSynchronize(s.done));
    const bool read = o.real || s.frame >= o.frames - o.slots;
    s.frame = -1;
    return read && memcmp(s.host_out, expected[s.shown].data(), PIXELS) != 0;
}

/* Into `up`, `work` and `down`, which may be one stream or three. */
static void submit(const options &o, slot &s, int frame, cudaStream_t up, cudaStream_t work, cudaStream_t down)
{
    if (o.real || s.shown < 0) { /* the camera */
        s.shown = frame % DISTINCT;
        memcpy(s.host_in, source[s.shown].data(), PIXELS);
    }
    CHECK(cudaMemcpyAsync(s.in, s.host_in, PIXELS, cudaMemcpyHostToDevice, up));
    if (work != up) {
        CHECK(cudaEventRecord(s.uploaded, up));
        CHECK(cudaStreamWaitEvent(work, s.uploaded, 0));
    }
    compute(s.in, s.out, work);
    CHECK(cudaGetLastError());
    if (down != work) {
        CHECK(cudaEventRecord(s.computed, work));
        CHECK(cudaStreamWaitEvent(down, s.computed, 0));
    }
    CHECK(cudaMemcpyAsync(s.host_out, s.out, PIXELS, cudaMemcpyDeviceToHost, down));
    CHECK(cudaEventRecord(s.done, down));
    s.frame = frame;
}

static int all_frames(const options &o, slot *slots, cudaStream_t work, cudaStream_t down)
{
    const bool serial = !strncmp(o.form, "serial", 6), round = !strcmp(o.form, "round"), chain = !strcmp(o.form, "chain");
    int wrong = 0;
    for (int f = 0; f < o.frames; f++) {
        slot &s = slots[f % o.slots];
        if (round && f % o.slots == 0) {
            for (int i = 0; i < o.slots; i++) /* nothing new begins before the slowest has ended */
                CHECK(cudaStreamSynchronize(slots[i].stream));
            for (int i = 0; i < o.slots; i++)
                wrong += collect(o, slots[i]);
        }
        wrong += collect(o, s);
        if (chain)
            submit(o, s, f, slots[0].stream, work, down);
        else
            submit(o, s, f, s.stream, s.stream, s.stream);
        if (serial)
            wrong += collect(o, s);
    }
    if (!strcmp(o.form, "race"))
        CHECK(cudaDeviceSynchronize()); /* one mistake is enough: buffers are freed when nobody uses them */
    for (int f = o.frames; f < o.frames + o.slots; f++)
        wrong += collect(o, slots[f % o.slots]);
    return wrong;
}

struct feed {
    slot slots[MAX_SLOTS];
    cudaStream_t work, down;
    weir_pipe *pipe;
    const options *o;
    int shown[MAX_SLOTS], wrong, failed; /* of the library's forms: by the item's slot */
};

/* --- with the library --- */

static int frame_of(const weir_pipe_item *item)
{
    return (int)(size_t)item->data;
}

static int pipe_fill(void *user, weir_pipe_item *item)
{
    feed *f = (feed *)user;
    if (f->o->real || f->shown[item->slot] < 0) {
        f->shown[item->slot] = frame_of(item) % DISTINCT;
        memcpy(item->in, source[f->shown[item->slot]].data(), PIXELS);
    }
    return 0;
}

static int pipe_launch(void *, weir_pipe_item *item)
{
    compute((const pixel *)item->dev_in, (pixel *)item->dev_out, item->stream);
    return cudaGetLastError();
}

static int pipe_drain(void *user, weir_pipe_item *item)
{
    feed *f = (feed *)user;
    if (!f->o->real && frame_of(item) < f->o->frames - f->o->slots)
        return 0;
    return memcmp(item->out, expected[f->shown[item->slot]].data(), PIXELS) != 0;
}

static void pipe_done(void *user, const weir_pipe_item *, const weir_pipe_outcome *outcome)
{
    feed *f = (feed *)user;
    f->wrong += outcome->status == WEIR_PIPE_DRAIN;
    f->failed += outcome->status != WEIR_PIPE_OK && outcome->status != WEIR_PIPE_DRAIN;
}

static void pipe_log(void *, const char *text)
{
    fprintf(stderr, "video: %s\n", text);
}

static void make_pipe(const options &o, feed &f)
{
    weir_pipe_config config;
    weir_pipe_config_init(&config);
    config.in_bytes = config.out_bytes = PIXELS;
    config.slots = o.slots;
    config.producers = o.producers;
    config.workers = o.workers;
    config.spin_ns = 1000ull * o.spin;
    config.order = o.workers > 1 ? WEIR_PIPE_ORDERED_DONE : WEIR_PIPE_ORDERED;
    config.streams = strstr(o.form, "split") ? WEIR_PIPE_STREAMS_SPLIT : WEIR_PIPE_STREAM_PER_SLOT;
    config.graph = strstr(o.form, "graph") != NULL;
    config.user = &f;
    config.fill = pipe_fill;
    config.launch = pipe_launch;
    config.drain = pipe_drain;
    config.done = pipe_done;
    config.log = pipe_log;
    for (int &shown : f.shown)
        shown = -1;
    if (weir_pipe_create(&config, &f.pipe) != WEIR_PIPE_OK)
        exit(1);
}

static void all_items(feed &f)
{
    for (int i = 0; i < f.o->frames; i++)
        if (weir_pipe_submit(f.pipe, (void *)(size_t)i) != WEIR_PIPE_OK)
            f.failed++;
    if (weir_pipe_flush(f.pipe) != WEIR_PIPE_OK)
        f.failed++;
}

/* --- both --- */

static bool is_pipe(const options &o)
{
    return !strncmp(o.form, "pipe", 4);
}

static void open_feed(const options &o, feed &f)
{
    const bool pinned = strcmp(o.form, "serial-pageable") != 0;
    f.o = &o;
    f.wrong = f.failed = 0;
    if (is_pipe(o)) {
        make_pipe(o, f);
        return;
    }
    for (int i = 0; i < o.slots; i++)
        make_slot(f.slots[i], pinned);
    CHECK(cudaStreamCreateWithFlags(&f.work, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&f.down, cudaStreamNonBlocking));
}

static void close_feed(const options &o, feed &f)
{
    if (is_pipe(o)) {
        weir_pipe_destroy(f.pipe);
        return;
    }
    for (int i = 0; i < o.slots; i++)
        free_slot(f.slots[i], strcmp(o.form, "serial-pageable") != 0);
    CHECK(cudaStreamDestroy(f.work));
    CHECK(cudaStreamDestroy(f.down));
}

static void run_feed(feed *f)
{
    if (is_pipe(*f->o))
        all_items(*f);
    else
        f->wrong += all_frames(*f->o, f->slots, f->work, f->down);
}

/* Milliseconds of one upload, of the kernels and of one download, each alone: the mean of many in a row. */
static void print_stages()
{
    enum { TIMES = 100 };
    slot s;
    cudaEvent_t event[4];
    float ms[3];
    make_slot(s, true);
    memset(s.host_in, 0, PIXELS);
    for (cudaEvent_t &e : event)
        CHECK(cudaEventCreate(&e));
    for (int warm = 0; warm < 2; warm++) {
        CHECK(cudaEventRecord(event[0], s.stream));
        for (int i = 0; i < TIMES; i++)
            CHECK(cudaMemcpyAsync(s.in, s.host_in, PIXELS, cudaMemcpyHostToDevice, s.stream));
        CHECK(cudaEventRecord(event[1], s.stream));
        for (int i = 0; i < TIMES; i++)
            compute(s.in, s.out, s.stream);
        CHECK(cudaEventRecord(event[2], s.stream));
        for (int i = 0; i < TIMES; i++)
            CHECK(cudaMemcpyAsync(s.host_out, s.out, PIXELS, cudaMemcpyDeviceToHost, s.stream));
        CHECK(cudaEventRecord(event[3], s.stream));
        CHECK(cudaStreamSynchronize(s.stream));
    }
    for (int i = 0; i < 3; i++)
        CHECK(cudaEventElapsedTime(&ms[i], event[i], event[i + 1]));
    printf("ms_alone = upload %.4f compute %.4f download %.4f\n", ms[0] / TIMES, ms[1] / TIMES, ms[2] / TIMES);
    for (cudaEvent_t e : event)
        CHECK(cudaEventDestroy(e));
    free_slot(s, true);
}

static bool read_options(int argc, char **argv, options &o)
{
    static const char *const forms[] = {"serial-pageable", "serial-pinned", "round",      "slot",       "race",
                                        "chain",           "pipe",          "pipe-split", "pipe-graph", "pipe-split-graph"};
    const char *from = option(argc, argv, "--source", "real");
    bool known = false;
    o.form = option(argc, argv, "--form", "slot");
    o.frames = option_int(argc, argv, "--frames", 120);
    o.slots = option_int(argc, argv, "--slots", 3);
    o.feeds = option_int(argc, argv, "--feeds", 1);
    o.producers = option_int(argc, argv, "--producers", 0);
    o.workers = option_int(argc, argv, "--workers", 1);
    o.spin = option_int(argc, argv, "--spin", 0);
    o.real = !strcmp(from, "real");
    for (const char *form : forms)
        known = known || !strcmp(form, o.form);
    if (!strncmp(o.form, "serial", 6))
        o.slots = 1;
    if (known && o.frames >= 1 && o.slots >= 1 && o.slots <= MAX_SLOTS && o.feeds >= 1 && o.feeds <= MAX_FEEDS &&
        (o.real || !strcmp(from, "none")))
        return true;
    fprintf(stderr, "video: --form");
    for (const char *form : forms)
        fprintf(stderr, " %s", form);
    fprintf(stderr, "; --frames from 1, --slots and --feeds 1 to %d, --source real or none\n", MAX_SLOTS);
    return false;
}

int main(int argc, char **argv)
{
    static feed feeds[MAX_FEEDS];
    options o, first;
    if (!read_options(argc, argv, o))
        return 2;
    for (int i = 0; i < DISTINCT; i++) {
        source[i].resize(PIXELS);
        expected[i].resize(PIXELS);
        draw(source[i].data(), i);
        reference(source[i].data(), expected[i].data());
    }
    int wrong = 0, failed = 0;
    if (has_flag(argc, argv, "--stages"))
        print_stages();

    /* The first frames load the kernels and capture the graphs: not part of the time. */
    first = o;
    first.frames = o.slots;
    for (int i = 0; i < o.feeds; i++) {
        open_feed(first, feeds[i]);
        run_feed(&feeds[i]);
        feeds[i].o = &o;
    }

    const double started = now_ms();
    std::vector<std::thread> threads;
    for (int i = 1; i < o.feeds; i++)
        threads.emplace_back(run_feed, &feeds[i]);
    run_feed(&feeds[0]);
    for (std::thread &t : threads)
        t.join();
    const double ms = (now_ms() - started) / o.frames / o.feeds;

    double library_us = 0, occupancy = 0;
    for (int i = 0; i < o.feeds; i++) {
        if (is_pipe(o)) {
            weir_pipe_stats stats;
            weir_pipe_stats_get(feeds[i].pipe, &stats);
            library_us += (double)stats.library_ns / 1e3 / (double)stats.accepted / o.feeds;
            occupancy += stats.occupancy / o.feeds;
        }
        close_feed(o, feeds[i]);
        wrong += feeds[i].wrong;
        failed += feeds[i].failed;
    }
    printf("%s: %d feeds of %d frames of %dx%d, %d slots, %d wrong, %d failed\n", o.form, o.feeds, o.frames, WIDTH,
           HEIGHT, o.slots, wrong, failed);
    if (is_pipe(o))
        printf("library_us_per_item = %.2f, slots busy = %.1f\n", library_us, occupancy);
    printf("ms_per_frame = %.4f\n", ms);
    printf("RESULT %s\n", wrong || failed ? "FAIL" : "PASS");
    return wrong || failed;
}
