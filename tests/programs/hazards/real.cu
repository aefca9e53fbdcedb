/* Programs as users write them, each right and with one synchronisation forgotten. Which must be
 * found is in real.sh. Usage: real FORM [forgets].
 * SPDX-License-Identifier: Apache-2.0 */
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thread>
#include <vector>

#include "../ok.h"

enum { N = 4096, BYTES = N * sizeof(float), BLOCK = 256, GRID = N / BLOCK };

static bool forgets;
static volatile float sink;

__global__ void scale(float *to, const float *from, float by)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    to[i] = from[i] * by;
}

__global__ void fill(float *to, float value)
{
    to[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

__global__ void add(float *to, const float *from)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    to[i] += from[i];
}

static float *device_floats(size_t n = N)
{
    float *p;

    OK(cudaMalloc((void **)&p, n * sizeof *p));
    return p;
}

static float *pinned_floats(size_t n = N)
{
    float *p;

    OK(cudaMallocHost((void **)&p, n * sizeof *p));
    for (size_t i = 0; i < n; i++)
        p[i] = (float)i;
    return p;
}

static cudaStream_t new_stream(void)
{
    cudaStream_t s;

    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    return s;
}

static cudaEvent_t new_event(void)
{
    cudaEvent_t e;

    OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    return e;
}

/* What one thread hands to another. */
template <class T> struct channel {
    std::mutex m;
    std::condition_variable cv;
    std::deque<T> q;

    void put(T x)
    {
        {
            std::lock_guard<std::mutex> lock(m);
            q.push_back(x);
        }
        cv.notify_one();
    }
    T take(void)
    {
        std::unique_lock<std::mutex> lock(m);

        cv.wait(lock, [this] { return !q.empty(); });
        T x = q.front();
        q.pop_front();
        return x;
    }
};

/* ---- 1: an inference server: workers with a stream and pinned slots each, a queue of requests; a
 * worker that answers when its stream is said to be ready, or when it has asked once ---- */

struct request {
    int id;
    channel<float> *answer;
};

static void server_worker(channel<request> *queue, float *weights)
{
    cudaStream_t s = new_stream();
    float *in = pinned_floats(), *out = pinned_floats();
    float *din = device_floats(), *dout = device_floats();

    for (;;) {
        request r = queue->take();

        if (r.id < 0)
            break;
        for (int i = 0; i < N; i++)
            in[i] = (float)r.id;
        OK(cudaMemcpyAsync(din, in, BYTES, cudaMemcpyHostToDevice, s));
        scale<<<GRID, BLOCK, 0, s>>>(dout, din, 2);
        add<<<GRID, BLOCK, 0, s>>>(dout, weights);
        OK(cudaMemcpyAsync(out, dout, BYTES, cudaMemcpyDeviceToHost, s));
        if (forgets)
            OK(cudaGetLastError());
        else
            OK(cudaStreamSynchronize(s));
        r.answer->put(out[r.id]);
    }
    OK(cudaStreamSynchronize(s));
    OK(cudaFreeHost(in));
    OK(cudaFreeHost(out));
    OK(cudaFree(din));
    OK(cudaFree(dout));
    OK(cudaStreamDestroy(s));
}

static void server(void)
{
    channel<request> queue;
    channel<float> answers;
    std::vector<std::thread> workers;
    float *weights = device_floats();

    fill<<<GRID, BLOCK>>>(weights, 1);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 2; i++)
        workers.emplace_back(server_worker, &queue, weights);
    for (int i = 0; i < 6; i++)
        queue.put({i, &answers});
    for (int i = 0; i < 6; i++)
        sink = answers.take();
    for (int i = 0; i < 2; i++)
        queue.put({-1, NULL});
    for (auto &w : workers)
        w.join();
    OK(cudaFree(weights));
}

/* ---- 2: video: frames go up, through a filter and down, in three streams, with two buffers ---- */

static void video(void)
{
    cudaStream_t up = new_stream(), run = new_stream(), down = new_stream();
    cudaEvent_t came[2], filtered[2], gone[2];
    float *in[2], *out[2], *frames = pinned_floats(8 * N), *results = pinned_floats(8 * N);

    for (int i = 0; i < 2; i++) {
        came[i] = new_event();
        filtered[i] = new_event();
        gone[i] = new_event();
        in[i] = device_floats();
        out[i] = device_floats();
    }
    for (int f = 0; f < 8; f++) {
        int b = f % 2;

        if (f >= 2 && !forgets)
            OK(cudaStreamWaitEvent(up, filtered[b], 0)); /* its input is free */
        OK(cudaMemcpyAsync(in[b], frames + f * N, BYTES, cudaMemcpyHostToDevice, up));
        OK(cudaEventRecord(came[b], up));
        OK(cudaStreamWaitEvent(run, came[b], 0));
        if (f >= 2)
            OK(cudaStreamWaitEvent(run, gone[b], 0));
        scale<<<GRID, BLOCK, 0, run>>>(out[b], in[b], 0.5f);
        OK(cudaEventRecord(filtered[b], run));
        OK(cudaStreamWaitEvent(down, filtered[b], 0));
        OK(cudaMemcpyAsync(results + f * N, out[b], BYTES, cudaMemcpyDeviceToHost, down));
        OK(cudaEventRecord(gone[b], down));
    }
    OK(cudaStreamSynchronize(down));
    sink = results[7 * N];
    OK(cudaDeviceSynchronize());
}

/* ---- 3: halo exchange between two devices: each step the edges go to the neighbour ---- */

static void halo(void)
{
    cudaStream_t s[2];
    cudaEvent_t stepped[2], sent[2];
    float *field[2];

    for (int d = 0; d < 2; d++) {
        OK(cudaSetDevice(d));
        s[d] = new_stream();
        stepped[d] = new_event();
        sent[d] = new_event();
        field[d] = device_floats(N + 2 * BLOCK);
        OK(cudaMemsetAsync(field[d], 0, (N + 2 * BLOCK) * sizeof(float), s[d]));
    }
    for (int step = 0; step < 3; step++) {
        for (int d = 0; d < 2; d++) {
            OK(cudaSetDevice(d));
            scale<<<GRID, BLOCK, 0, s[d]>>>(field[d] + BLOCK, field[d], 1);
            OK(cudaEventRecord(stepped[d], s[d]));
        }
        for (int d = 0; d < 2; d++) {
            /* My edge into the other one's halo: when it no longer reads it. */
            OK(cudaSetDevice(d));
            if (!forgets)
                OK(cudaStreamWaitEvent(s[d], stepped[1 - d], 0));
            OK(cudaMemcpyPeerAsync(field[1 - d], 1 - d, field[d] + N, d, BLOCK * sizeof(float), s[d]));
            OK(cudaEventRecord(sent[d], s[d]));
        }
        for (int d = 0; d < 2; d++)
            OK(cudaStreamWaitEvent(s[d], sent[1 - d], 0));
    }
    for (int d = 0; d < 2; d++) {
        OK(cudaSetDevice(d));
        OK(cudaDeviceSynchronize());
    }
}

/* ---- 4: a producer and a consumer thread, a stream each: the buffer is handed over with an event,
 * or as it is ---- */

struct handed {
    float *p;
    cudaEvent_t ready;
};

static void threads(void)
{
    channel<handed> full;
    float *out = device_floats();
    std::thread consumer([&] {
        cudaStream_t s = new_stream();

        for (int i = 0; i < 4; i++) {
            handed h = full.take();

            if (!forgets)
                OK(cudaStreamWaitEvent(s, h.ready, 0));
            scale<<<GRID, BLOCK, 0, s>>>(out, h.p, 3);
        }
        OK(cudaStreamSynchronize(s));
    });
    cudaStream_t s = new_stream();

    for (int i = 0; i < 4; i++) {
        handed h = {device_floats(), new_event()};

        fill<<<GRID, BLOCK, 0, s>>>(h.p, (float)i);
        OK(cudaEventRecord(h.ready, s));
        full.put(h);
    }
    consumer.join();
    OK(cudaDeviceSynchronize());
}

/* ---- 5, 6: a host function tells the program, by a condition variable or an atomic; it stands
 * behind the copy, or in front of it ---- */

static std::mutex told_lock;
static std::condition_variable told_cv;
static bool told;
static std::atomic<int> flag;

static void CUDART_CB tells(void *)
{
    std::lock_guard<std::mutex> lock(told_lock);

    told = true;
    told_cv.notify_all();
}

static void CUDART_CB sets(void *)
{
    flag.store(1, std::memory_order_release);
}

/* For a while: the function that told of it may not have returned yet, and could as well wait for
 * who reads. */
static void reads_on(const float *p)
{
    for (int i = 0; i < 25; i++) {
        sink = *p;
        std::this_thread::sleep_for(std::chrono::milliseconds(4));
    }
}

static void host_func(bool by_atomic)
{
    cudaStream_t s = new_stream();
    float *d = device_floats(), *h = pinned_floats();
    cudaHostFn_t fn = by_atomic ? sets : tells;

    fill<<<GRID, BLOCK, 0, s>>>(d, 4);
    if (forgets)
        OK(cudaLaunchHostFunc(s, fn, NULL));
    OK(cudaMemcpyAsync(h, d, BYTES, cudaMemcpyDeviceToHost, s));
    if (!forgets)
        OK(cudaLaunchHostFunc(s, fn, NULL));
    if (by_atomic) {
        while (!flag.load(std::memory_order_acquire))
            ;
    } else {
        std::unique_lock<std::mutex> lock(told_lock);

        told_cv.wait(lock, [] { return told; });
    }
    if (forgets)
        reads_on(&h[N - 1]);
    else
        sink = h[N - 1];
    OK(cudaStreamSynchronize(s));
}

static void condition(void) { host_func(false); }
static void atomics(void) { host_func(true); }

/* ---- 7: slots of a ring of three, with two events for them ---- */

static void ring(void)
{
    enum { SLOTS = 3 };
    cudaStream_t up = new_stream(), run = new_stream();
    cudaEvent_t used[SLOTS];
    float *slot[SLOTS], *h = pinned_floats(8 * N), *out = device_floats();

    for (int i = 0; i < SLOTS; i++) {
        slot[i] = device_floats();
        used[i] = new_event();
    }
    for (int i = 0; i < 8; i++) {
        cudaEvent_t came = new_event(), mine = used[i % (forgets ? 2 : SLOTS)];

        if (i >= SLOTS)
            OK(cudaStreamWaitEvent(up, used[(i - SLOTS) % (forgets ? 2 : SLOTS)], 0));
        OK(cudaMemcpyAsync(slot[i % SLOTS], h + i * N, BYTES, cudaMemcpyHostToDevice, up));
        OK(cudaEventRecord(came, up));
        if (!forgets || i != 4) /* one of many */
            OK(cudaStreamWaitEvent(run, came, 0));
        add<<<GRID, BLOCK, 0, run>>>(out, slot[i % SLOTS]);
        OK(cudaEventRecord(mine, run));
    }
    OK(cudaDeviceSynchronize());
}

/* ---- 8: managed memory: prefetched to the host, which reads it when its stream is done, or not --- */

static void managed(void)
{
    cudaStream_t s = new_stream();
    cudaMemLocation host = {cudaMemLocationTypeHost, 0}, dev = {cudaMemLocationTypeDevice, 0};
    float *p;

    OK(cudaMallocManaged((void **)&p, BYTES, cudaMemAttachGlobal));
    for (int i = 0; i < N; i++)
        p[i] = (float)i;
    OK(cudaMemAdvise(p, BYTES, cudaMemAdviseSetPreferredLocation, dev));
    OK(cudaMemPrefetchAsync(p, BYTES, dev, 0, s));
    scale<<<GRID, BLOCK, 0, s>>>(p, p, 2);
    OK(cudaMemPrefetchAsync(p, BYTES, host, 0, s));
    if (!forgets)
        OK(cudaStreamSynchronize(s));
    sink = p[5];
    OK(cudaStreamSynchronize(s));
    OK(cudaFree(p));
}

/* ---- 9: memory of a pool that two streams use; freed by the one that is behind, or by the one that
 * had it first ---- */

static void pool(void)
{
    cudaStream_t s1 = new_stream(), s2 = new_stream();
    cudaEvent_t ready = new_event(), used = new_event();
    float *out = device_floats();

    for (int i = 0; i < 4; i++) {
        float *p;

        OK(cudaMallocAsync((void **)&p, BYTES, s1));
        fill<<<GRID, BLOCK, 0, s1>>>(p, (float)i);
        OK(cudaEventRecord(ready, s1));
        OK(cudaStreamWaitEvent(s2, ready, 0));
        add<<<GRID, BLOCK, 0, s2>>>(out, p);
        OK(cudaEventRecord(used, s2));
        if (!forgets)
            OK(cudaStreamWaitEvent(s1, used, 0));
        OK(cudaFreeAsync(p, s1));
    }
    OK(cudaDeviceSynchronize());
}

/* ---- 10: a captured graph that forks and joins; the join is forgotten for work after it ---- */

static void capture(void)
{
    cudaStream_t s1 = new_stream(), s2 = new_stream();
    cudaEvent_t fork = new_event(), join = new_event();
    float *a = device_floats(), *b = device_floats();
    cudaGraph_t g;
    cudaGraphExec_t x;

    OK(cudaStreamBeginCapture(s1, cudaStreamCaptureModeThreadLocal));
    OK(cudaEventRecord(fork, s1));
    OK(cudaStreamWaitEvent(s2, fork, 0));
    fill<<<GRID, BLOCK, 0, s1>>>(a, 1);
    fill<<<GRID, BLOCK, 0, s2>>>(b, 2);
    if (!forgets) {
        OK(cudaEventRecord(join, s2));
        OK(cudaStreamWaitEvent(s1, join, 0));
    }
    add<<<GRID, BLOCK, 0, s1>>>(a, b);
    if (forgets) {
        OK(cudaEventRecord(join, s2));
        OK(cudaStreamWaitEvent(s1, join, 0));
    }
    OK(cudaStreamEndCapture(s1, &g));
    OK(cudaGraphInstantiate(&x, g, 0));
    for (int i = 0; i < 3; i++)
        OK(cudaGraphLaunch(x, s1));
    OK(cudaStreamSynchronize(s1));
}

/* ---- 11: a graph that copies its input in; the program fills that in anew for the next launch ---- */

static void replay(void)
{
    cudaStream_t s = new_stream();
    float *h = pinned_floats(), *d = device_floats(), *out = device_floats();
    cudaGraph_t g;
    cudaGraphExec_t x;

    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    OK(cudaMemcpyAsync(d, h, BYTES, cudaMemcpyHostToDevice, s));
    add<<<GRID, BLOCK, 0, s>>>(out, d);
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaGraphInstantiate(&x, g, 0));
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < N; k++)
            h[k] = (float)i;
        OK(cudaGraphLaunch(x, s));
        if (!forgets)
            OK(cudaStreamSynchronize(s));
    }
    OK(cudaStreamSynchronize(s));
}

/* ---- 12: a library with a stream of its own, that says when its result is there ---- */

struct library {
    cudaStream_t own = new_stream();
    cudaEvent_t came = new_event(), done = new_event();

    void run(float *to, const float *from, cudaStream_t caller)
    {
        OK(cudaEventRecord(came, caller));
        if (!forgets)
            OK(cudaStreamWaitEvent(own, came, 0));
        scale<<<GRID, BLOCK, 0, own>>>(to, from, 2);
        OK(cudaEventRecord(done, own));
        OK(cudaStreamWaitEvent(caller, done, 0));
    }
};

static void of_library(void)
{
    library l;
    cudaStream_t s = new_stream();
    float *a = device_floats(), *b = device_floats();

    fill<<<GRID, BLOCK, 0, s>>>(a, 1);
    l.run(b, a, s);
    add<<<GRID, BLOCK, 0, s>>>(a, b);
    OK(cudaDeviceSynchronize());
}

/* ---- 13: parameters of a filter in constant memory, set anew while a kernel may read them ---- */

__constant__ float filter[16];

__global__ void filtered(float *to, const float *from)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    to[i] = from[i] * filter[i % 16];
}

static void constants(void)
{
    cudaStream_t s1 = new_stream(), s2 = new_stream();
    cudaEvent_t used = new_event();
    float *a = device_floats(), *b = device_floats(), *h = pinned_floats(16);

    OK(cudaMemcpyToSymbolAsync(filter, h, sizeof filter, 0, cudaMemcpyHostToDevice, s1));
    filtered<<<GRID, BLOCK, 0, s1>>>(b, a);
    OK(cudaEventRecord(used, s1));
    if (!forgets)
        OK(cudaStreamWaitEvent(s2, used, 0));
    OK(cudaMemcpyToSymbolAsync(filter, h, sizeof filter, 0, cudaMemcpyHostToDevice, s2));
    OK(cudaDeviceSynchronize());
}

/* ---- 14: a texture's array, filled in anew while a kernel may read it ---- */

__global__ void through_texture(float *to, cudaTextureObject_t t)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    to[i] = tex2D<float>(t, (float)(i % 64) + 0.5f, (float)(i / 64) + 0.5f);
}

static void texture(void)
{
    cudaStream_t s1 = new_stream(), s2 = new_stream();
    cudaEvent_t used = new_event();
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
    cudaResourceDesc res = {};
    cudaTextureDesc how = {};
    cudaTextureObject_t t;
    cudaArray_t array;
    float *out = device_floats(), *h = pinned_floats();

    OK(cudaMallocArray(&array, &desc, 64, 64));
    res.resType = cudaResourceTypeArray;
    res.res.array.array = array;
    OK(cudaCreateTextureObject(&t, &res, &how, NULL));
    OK(cudaMemcpy2DToArrayAsync(array, 0, 0, h, 256, 256, 64, cudaMemcpyHostToDevice, s1));
    through_texture<<<GRID, BLOCK, 0, s1>>>(out, t);
    OK(cudaEventRecord(used, s1));
    if (!forgets)
        OK(cudaStreamWaitEvent(s2, used, 0));
    OK(cudaMemcpy2DToArrayAsync(array, 0, 0, h, 256, 256, 64, cudaMemcpyHostToDevice, s2));
    OK(cudaDeviceSynchronize());
    OK(cudaDestroyTextureObject(t));
    OK(cudaFreeArray(array));
}

/* ---- 15: a kernel writes its result and then a flag to mapped memory; the host looks at the flag,
 * or only at an event in front ---- */

__global__ void result_and_flag(float *result, volatile int *ready)
{
    *result = 5;
    __threadfence_system();
    *ready = 1;
}

static void mapped(void)
{
    cudaStream_t s = new_stream();
    cudaEvent_t e = new_event();
    float *result = pinned_floats(1);
    volatile int *ready;

    OK(cudaMallocHost((void **)&ready, sizeof *ready));
    *ready = 0;
    if (forgets)
        OK(cudaEventRecord(e, s));
    result_and_flag<<<1, 1, 0, s>>>(result, ready);
    if (!forgets)
        OK(cudaEventRecord(e, s));
    OK(cudaEventSynchronize(e));
    sink = *result;
    OK(cudaStreamSynchronize(s));
}

/* ---- 16: tiles of a picture, one stream each: the last column is the neighbour's, too ---- */

static void tiles(void)
{
    cudaStream_t s[4];
    float *d = device_floats(64 * 64), *h = pinned_floats(64 * 64);

    for (int i = 0; i < 4; i++)
        s[i] = new_stream();
    for (int i = 0; i < 4; i++) {
        size_t width = 16 * sizeof(float) + (forgets && i == 1 ? sizeof(float) : 0);

        OK(cudaMemcpy2DAsync(d + 16 * i, 64 * sizeof(float), h + 16 * i, 64 * sizeof(float), width, 64,
                             cudaMemcpyHostToDevice, s[i]));
    }
    OK(cudaDeviceSynchronize());
}

/* ---- 17: a vector that is registered grows while a copy from it is under way ---- */

static void vector_grows(void)
{
    cudaStream_t s = new_stream();
    std::vector<float> v(1 << 20, 1.0f);
    float *d = device_floats(1 << 20);

    OK(cudaHostRegister(v.data(), v.size() * sizeof(float), cudaHostRegisterDefault));
    OK(cudaMemcpyAsync(d, v.data(), v.size() * sizeof(float), cudaMemcpyHostToDevice, s));
    if (!forgets) {
        OK(cudaStreamSynchronize(s));
        OK(cudaHostUnregister(v.data()));
    }
    v.resize(1 << 21);
    sink = v[0];
    if (forgets)
        (void)cudaStreamSynchronize(s); /* a copy that has not begun fails: its source is gone */
    else
        OK(cudaStreamSynchronize(s));
}

/* ---- 18: one thread waits for the stream, another one reads: by a channel, or beside it ---- */

static void waiter(void)
{
    cudaStream_t s = new_stream();
    float *d = device_floats(), *h = pinned_floats();
    channel<int> done;

    fill<<<GRID, BLOCK, 0, s>>>(d, 1);
    OK(cudaMemcpyAsync(h, d, BYTES, cudaMemcpyDeviceToHost, s));
    if (forgets)
        sink = h[0];
    std::thread t([&] {
        OK(cudaStreamSynchronize(s));
        done.put(1);
    });
    (void)done.take();
    sink = h[1];
    t.join();
}

/* ---- 19: all devices add up what they have, around a ring ---- */

static void allreduce(void)
{
    cudaStream_t s[2];
    cudaEvent_t filled[2], got[2];
    float *own[2], *from[2];

    for (int d = 0; d < 2; d++) {
        OK(cudaSetDevice(d));
        s[d] = new_stream();
        filled[d] = new_event();
        got[d] = new_event();
        own[d] = device_floats();
        from[d] = device_floats();
        fill<<<GRID, BLOCK, 0, s[d]>>>(own[d], 1);
        OK(cudaEventRecord(filled[d], s[d]));
    }
    for (int d = 0; d < 2; d++) {
        OK(cudaSetDevice(d));
        OK(cudaStreamWaitEvent(s[d], filled[1 - d], 0));
        OK(cudaMemcpyPeerAsync(from[d], d, own[1 - d], 1 - d, BYTES, s[d]));
        OK(cudaEventRecord(got[d], s[d]));
    }
    for (int d = 0; d < 2; d++) {
        OK(cudaSetDevice(d));
        if (!forgets) /* the other one has read what I am about to change */
            OK(cudaStreamWaitEvent(s[d], got[1 - d], 0));
        add<<<GRID, BLOCK, 0, s[d]>>>(own[d], from[d]);
    }
    for (int d = 0; d < 2; d++) {
        OK(cudaSetDevice(d));
        OK(cudaDeviceSynchronize());
    }
}

/* ---- 20: work in the legacy stream, and a library that uses non-blocking ones ---- */

static void legacy(void)
{
    cudaStream_t s;
    float *a = device_floats(), *b = device_floats();

    OK(cudaStreamCreateWithFlags(&s, forgets ? cudaStreamNonBlocking : cudaStreamDefault));
    fill<<<GRID, BLOCK>>>(a, 1);
    scale<<<GRID, BLOCK, 0, s>>>(b, a, 2);
    OK(cudaDeviceSynchronize());
}

/* ---- 21: scratch memory of one call, used by the next in another stream ---- */

static void scratch(void)
{
    static float *shared;
    cudaStream_t s[2] = {new_stream(), new_stream()};
    float *out[2] = {device_floats(), device_floats()}, *in = device_floats();

    shared = device_floats(2 * N);
    for (int i = 0; i < 2; i++) {
        float *mine = shared + (forgets ? 0 : i * N);

        scale<<<GRID, BLOCK, 0, s[i]>>>(mine, in, 2);
        add<<<GRID, BLOCK, 0, s[i]>>>(out[i], mine);
    }
    OK(cudaDeviceSynchronize());
}

/* ---- 22: a graph that is updated for the next input; the old one may still run ---- */

static cudaGraph_t graph_of(cudaStream_t s, float *to, const float *from)
{
    cudaGraph_t g;

    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    scale<<<GRID, BLOCK, 0, s>>>(to, from, 2);
    OK(cudaStreamEndCapture(s, &g));
    return g;
}

static void update(void)
{
    cudaStream_t s1 = new_stream(), s2 = new_stream();
    cudaEvent_t e = new_event();
    float *a = device_floats(), *b = device_floats(), *c = device_floats();
    cudaGraphExecUpdateResultInfo info;
    cudaGraph_t g = graph_of(s1, b, a), h = graph_of(s1, c, b);
    cudaGraphExec_t x, y;

    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphInstantiate(&y, g, 0));
    OK(cudaGraphLaunch(x, s1));
    OK(cudaGraphExecUpdate(forgets ? y : x, h, &info));
    OK(cudaGraphLaunch(forgets ? y : x, s2)); /* behind its own last launch, not behind another's */
    OK(cudaEventRecord(e, s2));
    OK(cudaDeviceSynchronize());
}

/* ---- 23: a batch of small copies; the last one's event stands for all, but for one stream's ---- */

static void batch(void)
{
    cudaStream_t s[3] = {new_stream(), new_stream(), new_stream()};
    cudaEvent_t e = new_event(), each[3] = {new_event(), new_event(), new_event()};
    float *d = device_floats(), *h = pinned_floats();

    for (int i = 0; i < 3; i++) {
        OK(cudaMemcpyAsync(h + i * 1024, d + i * 1024, 4096, cudaMemcpyDeviceToHost, s[i]));
        OK(cudaEventRecord(each[i], s[i]));
        if (i < 2 && !(forgets && i == 1))
            OK(cudaStreamWaitEvent(s[2], each[i], 0));
    }
    OK(cudaEventRecord(e, s[2]));
    OK(cudaEventSynchronize(e));
    if (forgets)
        OK(cudaEventSynchronize(each[0]));
    else
        for (int i = 0; i < 3; i++)
            OK(cudaEventSynchronize(each[i]));
    sink = h[0] + h[1024] + h[2048];
    OK(cudaDeviceSynchronize());
}

/* ---- 24: callbacks put results into a queue that a thread takes them from ---- */

static channel<float *> finished;

static void CUDART_CB put_finished(cudaStream_t, cudaError_t, void *p)
{
    finished.put((float *)p);
}

static void callbacks(void)
{
    cudaStream_t s = new_stream();
    float *h[4], *d = device_floats();
    channel<int> submitted;
    std::thread reader([&] {
        if (forgets)
            (void)submitted.take();
        for (int i = 0; i < 4; i++) {
            float *p = finished.take();

            if (forgets)
                reads_on(p);
            else
                sink = p[0];
        }
    });

    for (int i = 0; i < 4; i++) {
        h[i] = pinned_floats();
        if (!forgets)
            OK(cudaMemcpyAsync(h[i], d, BYTES, cudaMemcpyDeviceToHost, s));
        OK(cudaStreamAddCallback(s, put_finished, h[i], 0));
        if (forgets)
            OK(cudaMemcpyAsync(h[i], d, BYTES, cudaMemcpyDeviceToHost, s));
    }
    submitted.put(1);
    reader.join();
    OK(cudaStreamSynchronize(s));
}

/* ---- 25: a thread's results are freed when its stream is destroyed, or before ---- */

static void torn_down(void)
{
    cudaStream_t s = new_stream();
    float *h = pinned_floats(), *d = device_floats();

    OK(cudaMemcpyAsync(d, h, BYTES, cudaMemcpyHostToDevice, s));
    if (!forgets)
        OK(cudaStreamSynchronize(s));
    OK(cudaStreamDestroy(s)); /* does not wait */
    OK(cudaFreeHost(h));
    OK(cudaDeviceSynchronize());
}

static const struct {
    const char *name;
    void (*run)(void);
    bool two;
} forms[] = {
    {"server", server}, {"video", video}, {"halo", halo, true}, {"threads", threads},
    {"condition", condition}, {"atomics", atomics}, {"ring", ring}, {"managed", managed},
    {"pool", pool}, {"capture", capture}, {"replay", replay}, 
    {"library", of_library}, {"constants", constants}, {"texture", texture}, {"mapped", mapped},
    {"tiles", tiles}, {"vector", vector_grows}, {"waiter", waiter}, {"allreduce", allreduce, true},
    {"legacy", legacy}, {"scratch", scratch}, {"update", update}, {"batch", batch},
    {"callbacks", callbacks}, {"torn-down", torn_down},
};

int main(int argc, char **argv)
{
    forgets = argc > 2;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (argc > 1 && !strcmp(argv[1], forms[i].name)) {
            forms[i].run();
            printf("done\n");
            return 0;
        }
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        printf("%s%s\n", forms[i].name, forms[i].two ? " 2" : "");
    return 1;
}
