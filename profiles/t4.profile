# SPDX-License-Identifier: Apache-2.0
# NVIDIA T4. What is not said here is as for the H200: limits that the programming guide gives alike for 7.5 and 9.0.
like            h200
name            Tesla T4
memory          17179869184 # data sheet: 16 GB
persisting-l2   0 # begins with capability 8.0
shared-unit     256
attribute 13   1590000     # ClockRate; data sheet, boost clock
attribute 16   40          # MultiProcessorCount; data sheet: 2560 cores, 64 a SM
attribute 36   5001000     # MemoryClockRate; data sheet: 320 GB/s over 256 bits
attribute 37   256         # GlobalMemoryBusWidth; data sheet
attribute 38   4194304     # L2CacheSize; architecture white paper: 4 MB
attribute 39   1024        # MaxThreadsPerMultiProcessor; CUDA programming guide, table of capabilities
attribute 75   7           # ComputeCapabilityMajor; CUDA programming guide, table of capabilities
attribute 76   5           # ComputeCapabilityMinor; CUDA programming guide, table of capabilities
attribute 81   65536       # MaxSharedMemoryPerMultiprocessor; CUDA programming guide, table of capabilities: 64 KB
attribute 87   32          # SingleToDoublePrecisionPerfRatio; CUDA programming guide, table of capabilities
attribute 97   65536       # MaxSharedMemoryPerBlockOptin; CUDA programming guide, table of capabilities: 64 KB
attribute 106  16          # MaxBlocksPerMultiprocessor; CUDA programming guide, table of capabilities
attribute 108  0           # MaxPersistingL2CacheSize; persisting accesses begin with capability 8.0 (programming guide)
attribute 109  0           # MaxAccessPolicyWindowSize; the same
attribute 111  0           # ReservedSharedMemoryPerBlock; reserved shared memory begins with capability 8.0 (occupancy tables)
attribute 120  0           # ClusterLaunch; clusters begin with capability 9.0 (programming guide)
attribute 139  515379422   # GpuPciDeviceId; PCI id list: 10de:1eb8
# Costs not said are the H200's. Copies: what its bus carries in theory, by the share of it that the H200 reaches (55.2 of 63.0 GB/s).
cost h2d-gbps          13.8  # PCIe gen 3 x16: 15.75 GB/s
cost d2h-gbps          13.8
cost device-gbps       276   # data sheet: 320 GB/s, by the H200's share (4150 of 4814)
