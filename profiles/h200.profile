# SPDX-License-Identifier: Apache-2.0
# NVIDIA H200, every value measured under CUDA 13.0 (oracle device_attributes, device_props, func_attributes); the
# allocation units are those of capability 9.0 that the measured occupancy follows from.
name            NVIDIA H200
memory          150109880320
persisting-l2   11796480 # measured: device_api.limit_persistL2
register-unit   8
warp-register-unit 256
shared-unit     128
attribute 1    1024        # MaxThreadsPerBlock
attribute 2    1024        # MaxBlockDimX
attribute 3    1024        # MaxBlockDimY
attribute 4    64          # MaxBlockDimZ
attribute 5    2147483647  # MaxGridDimX
attribute 6    65535       # MaxGridDimY
attribute 7    65535       # MaxGridDimZ
attribute 8    49152       # MaxSharedMemoryPerBlock
attribute 9    65536       # TotalConstantMemory
attribute 10   32          # WarpSize
attribute 11   2147483647  # MaxPitch
attribute 12   65536       # MaxRegistersPerBlock
attribute 13   1980000     # ClockRate
attribute 14   512         # TextureAlignment
attribute 15   1           # GpuOverlap
attribute 16   132         # MultiProcessorCount
attribute 17   0           # KernelExecTimeout
attribute 18   0           # Integrated
attribute 19   1           # CanMapHostMemory
attribute 20   0           # ComputeMode
attribute 21   131072      # MaxTexture1DWidth
attribute 22   131072      # MaxTexture2DWidth
attribute 23   65536       # MaxTexture2DHeight
attribute 24   16384       # MaxTexture3DWidth
attribute 25   16384       # MaxTexture3DHeight
attribute 26   16384       # MaxTexture3DDepth
attribute 27   32768       # MaxTexture2DLayeredWidth
attribute 28   32768       # MaxTexture2DLayeredHeight
attribute 29   2048        # MaxTexture2DLayeredLayers
attribute 30   512         # SurfaceAlignment
attribute 31   1           # ConcurrentKernels
attribute 32   1           # EccEnabled
attribute 33   0           # PciBusId
attribute 34   6           # PciDeviceId
attribute 35   0           # TccDriver
attribute 36   3201000     # MemoryClockRate
attribute 37   6016        # GlobalMemoryBusWidth
attribute 38   62914560    # L2CacheSize
attribute 39   2048        # MaxThreadsPerMultiProcessor
attribute 40   3           # AsyncEngineCount
attribute 41   1           # UnifiedAddressing
attribute 42   32768       # MaxTexture1DLayeredWidth
attribute 43   2048        # MaxTexture1DLayeredLayers
attribute 45   32768       # MaxTexture2DGatherWidth
attribute 46   32768       # MaxTexture2DGatherHeight
attribute 47   8192        # MaxTexture3DWidthAlt
attribute 48   8192        # MaxTexture3DHeightAlt
attribute 49   32768       # MaxTexture3DDepthAlt
attribute 50   0           # PciDomainId
attribute 51   32          # TexturePitchAlignment
attribute 52   32768       # MaxTextureCubemapWidth
attribute 53   32768       # MaxTextureCubemapLayeredWidth
attribute 54   2046        # MaxTextureCubemapLayeredLayers
attribute 55   32768       # MaxSurface1DWidth
attribute 56   131072      # MaxSurface2DWidth
attribute 57   65536       # MaxSurface2DHeight
attribute 58   16384       # MaxSurface3DWidth
attribute 59   16384       # MaxSurface3DHeight
attribute 60   16384       # MaxSurface3DDepth
attribute 61   32768       # MaxSurface1DLayeredWidth
attribute 62   2048        # MaxSurface1DLayeredLayers
attribute 63   32768       # MaxSurface2DLayeredWidth
attribute 64   32768       # MaxSurface2DLayeredHeight
attribute 65   2048        # MaxSurface2DLayeredLayers
attribute 66   32768       # MaxSurfaceCubemapWidth
attribute 67   32768       # MaxSurfaceCubemapLayeredWidth
attribute 68   2046        # MaxSurfaceCubemapLayeredLayers
attribute 69   268435456   # MaxTexture1DLinearWidth
attribute 70   131072      # MaxTexture2DLinearWidth
attribute 71   65000       # MaxTexture2DLinearHeight
attribute 72   2097120     # MaxTexture2DLinearPitch
attribute 73   32768       # MaxTexture2DMipmappedWidth
attribute 74   32768       # MaxTexture2DMipmappedHeight
attribute 75   9           # ComputeCapabilityMajor
attribute 76   0           # ComputeCapabilityMinor
attribute 77   32768       # MaxTexture1DMipmappedWidth
attribute 78   1           # StreamPrioritiesSupported
attribute 79   1           # GlobalL1CacheSupported
attribute 80   1           # LocalL1CacheSupported
attribute 81   233472      # MaxSharedMemoryPerMultiprocessor
attribute 82   65536       # MaxRegistersPerMultiprocessor
attribute 83   1           # ManagedMemory
attribute 84   0           # IsMultiGpuBoard
attribute 85   0           # MultiGpuBoardGroupID
attribute 86   0           # HostNativeAtomicSupported
attribute 87   2           # SingleToDoublePrecisionPerfRatio
attribute 88   0           # PageableMemoryAccess
attribute 89   1           # ConcurrentManagedAccess
attribute 90   1           # ComputePreemptionSupported
attribute 91   1           # CanUseHostPointerForRegisteredMem
attribute 92   0           # Reserved92
attribute 93   0           # Reserved93
attribute 94   0           # Reserved94
attribute 95   1           # CooperativeLaunch
attribute 96   1           # Reserved96
attribute 97   232448      # MaxSharedMemoryPerBlockOptin
attribute 98   0           # CanFlushRemoteWrites
attribute 99   1           # HostRegisterSupported
attribute 100  0           # PageableMemoryAccessUsesHostPageTables
attribute 101  0           # DirectManagedMemAccessFromHost
attribute 106  32          # MaxBlocksPerMultiprocessor
attribute 108  39321600    # MaxPersistingL2CacheSize
attribute 109  134217728   # MaxAccessPolicyWindowSize
attribute 111  1024        # ReservedSharedMemoryPerBlock
attribute 112  1           # SparseCudaArraySupported
attribute 113  1           # HostRegisterReadOnlySupported
attribute 114  1           # TimelineSemaphoreInteropSupported
attribute 115  1           # MemoryPoolsSupported
attribute 116  1           # GPUDirectRDMASupported
attribute 117  1           # GPUDirectRDMAFlushWritesOptions
attribute 118  100         # GPUDirectRDMAWritesOrdering
attribute 119  9           # MemoryPoolSupportedHandleTypes
attribute 120  1           # ClusterLaunch
attribute 121  1           # DeferredMappingCudaArraySupported
attribute 122  1           # Reserved122
attribute 123  1           # Reserved123
attribute 124  1           # Reserved124
attribute 125  1           # IpcEventSupport
attribute 126  4           # MemSyncDomainCount
attribute 127  1           # Reserved127
attribute 128  1           # Reserved128
attribute 129  1           # Reserved129
attribute 130  0           # NumaConfig
attribute 131  -1          # NumaId
attribute 132  0           # Reserved132
attribute 133  0           # MpsEnabled
attribute 134  0           # HostNumaId
attribute 135  0           # D3D12CigSupported
attribute 138  0           # VulkanCigSupported
attribute 139  590680286   # GpuPciDeviceId
attribute 140  415174878   # GpuPciSubsystemId
attribute 141  1           # Reserved141
attribute 142  1           # HostNumaMemoryPoolsSupported
attribute 143  0           # HostNumaMultinodeIpcSupported
attribute 144  1           # HostMemoryPoolsSupported
attribute 145  1           # Reserved145
attribute 147  0           # OnlyPartialHostNativeAtomicSupported
# What things cost: means of the two runs of the reference timings (medians of each), sections named. "Overlap" is that section's
# pinned chunks through one stream, 64 FMAs; host costs differ by up to 1.5 between the runs.
cost hw-queues         8     # concurrency: 1 + 3n/8 ms for four 1 ms kernels a stream on n streams
cost kernels           128   # concurrency: 160 kernels take two rounds
cost h2d-gbps          55.2  # bandwidth: 256 MiB pinned
cost d2h-gbps          55.1  # bandwidth: 256 MiB pinned
cost duplex            0.895 # bandwidth: 256 MiB alone 4.86 ms, both ways together 5.52 and 5.35 ms
cost copy-us           2.3   # bandwidth: 4 KiB from the device, 3.5 us between events, less two records (1.3)
cost pageable-h2d-gbps 7.1   # overlap: 256 MiB pageable alone 34.1 and 42.6 ms
cost pageable-d2h-gbps 12.7  # overlap: 256 MiB pageable alone 18.4 and 24.8 ms
cost pageable-small-h2d-gbps 12.9 # bandwidth: 1 and 16 MiB pageable, 13.8 to 12.2
cost pageable-small-d2h-gbps 9.1  # bandwidth: 1 and 16 MiB pageable, 8.1 to 10.2
cost device-gbps       4150  # bandwidth: 1 GiB on the device, read and written
cost launch-us         2.5   # calls: launch and synchronise 9.4 us, less the launch, a kernel's 1.5 and the return
cost kernel-us         1.1   # calls: the host sees what a kernel wrote 8.0 us after the call, less submission and launch
cost same-us           1.7   # priority: 20 kernels of 0.4 ms take 42 us more, 9.9 of them between their waves
cost handover-us       6.7   # overlap: 64 chunks take 1.26 ms more than one, by 189 operations
cost copy-gap-us       1.7   # as same-us: bandwidth has two copies of one direction behind each other without a gap
cost submit-kernel-us  4.4   # calls: kernel_enqueue
cost submit-switch-us  1.1   # concurrency: 64 to 128 streams, 5.5 us a launch
cost submit-copy-us    2.0   # calls: memcpyAsync pinned
cost record-us         0.3   # calls: eventRecord, timing disabled
cost record-timing-us  1.2   # calls: eventRecord
cost wait-us           0.3   # calls: streamWaitEvent
cost sync-us           0.4   # calls: streamSynchronize of an idle stream
cost sync-return-us    3.0   # frames: one stream, synchronised each frame or at the end (-0.3 and +5.4 us)
cost host-func-us      8.8   # calls: host function, from the call to its start (the first run)
cost graph-launch-us   2.7   # graph: 200 nodes, issue of one launch
cost graph-node-us     0.51  # graph: chain of 10,000
