"""What Numba's users write first: a vector addition, a reduction with shared memory and an atomic, device arrays, a
stream, an event. SPDX-License-Identifier: Apache-2.0
"""
import warnings

import numpy as np
from numba import cuda, float32
from numba.core.errors import NumbaWarning

warnings.simplefilter('ignore', NumbaWarning)
warnings.filterwarnings('ignore', message='.*(Grid size|Host array).*')

THREADS = 128


@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


@cuda.jit
def total(values, out):
    part = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    part[t] = values[i] if i < values.size else 0
    cuda.syncthreads()
    step = THREADS // 2
    while step > 0:
        if t < step:
            part[t] += part[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        cuda.atomic.add(out, 0, part[0])


def main():
    n = 5000
    blocks = (n + THREADS - 1) // THREADS
    a = np.arange(n, dtype=np.float32)
    b = (2 * a).astype(np.float32)
    c = np.zeros_like(a)
    add[blocks, THREADS](a, b, c)
    print('add', bool(np.array_equal(c, a + b)))

    stream = cuda.stream()
    start, end = cuda.event(), cuda.event()
    values = cuda.to_device(np.ones(n, dtype=np.float32), stream=stream)
    out = cuda.to_device(np.zeros(1, dtype=np.float32), stream=stream)
    start.record(stream)
    total[blocks, THREADS, stream](values, out)
    end.record(stream)
    result = out.copy_to_host(stream=stream)
    stream.synchronize()
    print('total', result[0])
    print('time', cuda.event_elapsed_time(start, end) >= 0)
    print('device', cuda.get_current_device().compute_capability[0] >= 7)


main()
