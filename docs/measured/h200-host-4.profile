# SPDX-License-Identifier: Apache-2.0
# NVIDIA H200, measured by weir plan --calibrate; what is not said here is the H200's.
like            h200
name            NVIDIA H200
memory          150109880320
attribute 1    1024
attribute 2    1024
attribute 3    1024
attribute 4    64
attribute 5    2147483647
attribute 6    65535
attribute 7    65535
attribute 8    49152
attribute 9    65536
attribute 10   32
attribute 11   2147483647
attribute 12   65536
attribute 13   1980000
attribute 14   512
attribute 15   1
attribute 16   132
attribute 17   0
attribute 18   0
attribute 19   1
attribute 20   0
attribute 21   131072
attribute 22   131072
attribute 23   65536
attribute 24   16384
attribute 25   16384
attribute 26   16384
attribute 27   32768
attribute 28   32768
attribute 29   2048
attribute 30   512
attribute 31   1
attribute 32   1
attribute 33   0
attribute 34   6
attribute 35   0
attribute 36   3201000
attribute 37   6016
attribute 38   62914560
attribute 39   2048
attribute 40   3
attribute 41   1
attribute 42   32768
attribute 43   2048
attribute 44   1
attribute 45   32768
attribute 46   32768
attribute 47   8192
attribute 48   8192
attribute 49   32768
attribute 50   0
attribute 51   32
attribute 52   32768
attribute 53   32768
attribute 54   2046
attribute 55   32768
attribute 56   131072
attribute 57   65536
attribute 58   16384
attribute 59   16384
attribute 60   16384
attribute 61   32768
attribute 62   2048
attribute 63   32768
attribute 64   32768
attribute 65   2048
attribute 66   32768
attribute 67   32768
attribute 68   2046
attribute 69   268435456
attribute 70   131072
attribute 71   65000
attribute 72   2097120
attribute 73   32768
attribute 74   32768
attribute 75   9
attribute 76   0
attribute 77   32768
attribute 78   1
attribute 79   1
attribute 80   1
attribute 81   233472
attribute 82   65536
attribute 83   1
attribute 84   0
attribute 85   0
attribute 86   0
attribute 87   2
attribute 88   0
attribute 89   1
attribute 90   1
attribute 91   1
attribute 92   0
attribute 93   0
attribute 94   0
attribute 95   1
attribute 96   1
attribute 97   232448
attribute 98   0
attribute 99   1
attribute 100  0
attribute 101  0
attribute 102  1
attribute 103  1
attribute 104  0
attribute 105  0
attribute 106  32
attribute 107  1
attribute 108  39321600
attribute 109  134217728
attribute 110  1
attribute 111  1024
attribute 112  1
attribute 113  1
attribute 114  1
attribute 115  1
attribute 116  1
attribute 117  1
attribute 118  100
attribute 119  9
attribute 120  1
attribute 121  1
attribute 122  1
attribute 123  1
attribute 124  1
attribute 125  1
attribute 126  4
attribute 127  1
attribute 128  1
attribute 129  1
attribute 130  0
attribute 131  -1
attribute 132  0
attribute 133  0
attribute 134  0
attribute 135  0
attribute 136  0
attribute 137  0
attribute 138  0
attribute 139  590680286
attribute 140  415174878
attribute 141  1
attribute 142  1
attribute 143  0
attribute 144  1
attribute 145  1
attribute 146  0
attribute 147  0
cost h2d-gbps                55.45    # 64 MiB pinned
cost d2h-gbps                55.44    # 64 MiB pinned
cost duplex                  0.9125   # both at a time, beside each alone
cost copy-us                 1.6960   # 4 KiB from the device
cost device-gbps             3785     # 64 MiB, read and written
# 4 MiB pageable: 6.64 to the device, 10.50 from it
cost pageable-small-h2d-gbps 7.4661   # 16 MiB pageable
cost pageable-small-d2h-gbps 12.00    # 16 MiB pageable
# 32 MiB pageable: 7.52 to the device, 12.18 from it
cost pageable-mid-h2d-gbps   7.5745   # 64 MiB pageable
cost pageable-mid-d2h-gbps   12.15    # 64 MiB pageable
# 128 MiB pageable: 7.55 to the device, 12.43 from it
cost pageable-h2d-gbps       8.1776   # 256 MiB pageable
cost pageable-d2h-gbps       15.44    # 256 MiB pageable
cost submit-kernel-us        3.7951   # launches in a row
cost submit-switch-us        0.2547   # more, round 32 streams
cost submit-copy-us          1.9027   # pinned copies in a row
cost record-us               0.1815   # timing disabled
cost record-timing-us        1.1463   # with timing
cost wait-us                 0.2022   # cuStreamWaitEvent
cost sync-us                 0.4224   # idle stream
cost launch-us               2.6433   # half of launch and synchronise, less the launch
cost sync-return-us          2.6433   # the other half
cost same-us                 1.7600   # 20 kernels of 0.2 ms in a stream
cost copy-gap-us             1.7600   # as same-us
cost handover-us             2.7697   # copy in, empty kernel, copy out of 4 KiB, 64 times
cost hw-queues               8.0000   # four 1 ms kernels a stream on 32 streams
