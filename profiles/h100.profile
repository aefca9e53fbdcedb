# SPDX-License-Identifier: Apache-2.0
# NVIDIA H100 SXM5 80 GB. What is not said here is as for the H200, the same capability.
like            h200
name            NVIDIA H100 80GB HBM3
memory          85899345920 # data sheet: 80 GB
persisting-l2   9830400 # 0.3 of the largest, as measured on the H200
attribute 16   132         # MultiProcessorCount; data sheet
attribute 13   1980000     # ClockRate; data sheet, boost clock
attribute 36   2619000     # MemoryClockRate; data sheet: 3.35 TB/s over 5120 bits
attribute 37   5120        # GlobalMemoryBusWidth; data sheet
attribute 38   52428800    # L2CacheSize; architecture white paper: 50 MB
attribute 108  32768000    # MaxPersistingL2CacheSize; 5/8 of L2, as measured on the H200
attribute 139  590352606   # GpuPciDeviceId; PCI id list: 10de:2330
# Costs not said are the H200's. Copies: what its bus carries in theory, by the share of it that the H200 reaches (55.2 of 63.0 GB/s).
cost device-gbps       2890  # data sheet: 3352 GB/s, by the H200's share (4150 of 4814)
