"""The vocabulary: every feature name, once, with what a yes promises.

Names follow PyTorch's test capabilities where those have one (``dtype.bf16``,
``attention.flash_attention``, ``compile.inductor``), and DeepSpeed's builders for ``op.*``.
This is data, one row a name; it is longer than other files for that reason alone.
"""

from __future__ import annotations

from accelcaps.feature import Feature, FeatureRegistry

REGISTRY = FeatureRegistry()
_define = REGISTRY.define

# device: the hardware, and how it orders work (DeepSpeed: the methods of the same names)
DEVICE_AVAILABLE = _define("device.available", "usable device", "at least one device is there and the installed framework can use it")
DEVICE_SYNCHRONOUS = _define("device.synchronous", "synchronous device", "work on the device is synchronous with the host")
DEVICE_HOST_TIMERS = _define("device.host_timers", "host timers", "the host's clock times work on the device correctly")
DEVICE_RESOLVES_DATA_DEPENDENCY = _define("device.resolves_data_dependency", "resolves data dependency", "the device orders dependent work by itself, without explicit synchronisation")
DEVICE_HANDLES_MEMORY_BACKPRESSURE = _define("device.handles_memory_backpressure", "handles memory back-pressure", "the device holds back work that would exceed its memory")

# dtype: computing with a type; .storage: a tensor of it can exist; .autocast: mixed precision uses it
DTYPE_FP64 = _define("dtype.fp64", "64-bit float", "arithmetic, matrix products and backward in float64 run at hardware speed and are right")
DTYPE_FP32 = _define("dtype.fp32", "32-bit float", "arithmetic, matrix products and backward in float32 run at hardware speed and are right")
DTYPE_TF32 = _define("dtype.tf32", "TensorFloat-32", "float32 matrix products can use the TensorFloat-32 units")
DTYPE_FP16 = _define("dtype.fp16", "16-bit float", "arithmetic, matrix products and backward in float16 run at hardware speed and are right")
DTYPE_BF16 = _define("dtype.bf16", "bfloat16", "arithmetic, matrix products and backward in bfloat16 run at hardware speed and are right")
DTYPE_FP8_E4M3 = _define("dtype.fp8_e4m3", "8-bit float, e4m3", "scaled matrix products of float8_e4m3fn run at hardware speed and are right")
DTYPE_FP8_E5M2 = _define("dtype.fp8_e5m2", "8-bit float, e5m2", "scaled matrix products of float8_e5m2 run at hardware speed and are right")
DTYPE_FP8_E4M3FNUZ = _define("dtype.fp8_e4m3fnuz", "8-bit float, e4m3 fnuz", "scaled matrix products of float8_e4m3fnuz run at hardware speed and are right")
DTYPE_FP8_E5M2FNUZ = _define("dtype.fp8_e5m2fnuz", "8-bit float, e5m2 fnuz", "scaled matrix products of float8_e5m2fnuz run at hardware speed and are right")
DTYPE_MXFP8 = _define("dtype.mxfp8", "microscaling fp8", "matrix products of block-scaled fp8 (OCP MX) run at hardware speed and are right")
DTYPE_MXFP4 = _define("dtype.mxfp4", "microscaling fp4", "matrix products of block-scaled fp4 (OCP MX) run at hardware speed and are right")
DTYPE_NVFP4 = _define("dtype.nvfp4", "NVIDIA fp4", "matrix products of NVIDIA's block-scaled fp4 run at hardware speed and are right")
DTYPE_INT8 = _define("dtype.int8", "8-bit integer", "int8 matrix products accumulating in int32 run at hardware speed and are right")
DTYPE_INT4 = _define("dtype.int4", "4-bit integer", "matrix products with int4 weights run at hardware speed and are right")
DTYPE_COMPLEX64 = _define("dtype.complex64", "64-bit complex", "arithmetic, matrix products and backward in complex64 run at hardware speed and are right")
DTYPE_COMPLEX128 = _define("dtype.complex128", "128-bit complex", "arithmetic, matrix products and backward in complex128 run at hardware speed and are right")
DTYPE_FP64_STORAGE = _define("dtype.fp64.storage", "64-bit float, storage", "tensors of it can be allocated, copied to the host and converted")
DTYPE_FP32_STORAGE = _define("dtype.fp32.storage", "32-bit float, storage", "tensors of it can be allocated, copied to the host and converted")
DTYPE_FP16_STORAGE = _define("dtype.fp16.storage", "16-bit float, storage", "tensors of it can be allocated, copied to the host and converted")
DTYPE_BF16_STORAGE = _define("dtype.bf16.storage", "bfloat16, storage", "tensors of it can be allocated, copied to the host and converted")
DTYPE_FP8_E4M3_STORAGE = _define("dtype.fp8_e4m3.storage", "8-bit float, e4m3, storage", "tensors of it can be allocated, copied to the host and converted")
DTYPE_FP8_E5M2_STORAGE = _define("dtype.fp8_e5m2.storage", "8-bit float, e5m2, storage", "tensors of it can be allocated, copied to the host and converted")
DTYPE_FP8_E4M3FNUZ_STORAGE = _define("dtype.fp8_e4m3fnuz.storage", "8-bit float, e4m3 fnuz, storage", "tensors of it can be allocated, copied to the host and converted")
DTYPE_FP8_E5M2FNUZ_STORAGE = _define("dtype.fp8_e5m2fnuz.storage", "8-bit float, e5m2 fnuz, storage", "tensors of it can be allocated, copied to the host and converted")
DTYPE_INT8_STORAGE = _define("dtype.int8.storage", "8-bit integer, storage", "tensors of it can be allocated, copied to the host and converted")
DTYPE_COMPLEX64_STORAGE = _define("dtype.complex64.storage", "64-bit complex, storage", "tensors of it can be allocated, copied to the host and converted")
DTYPE_COMPLEX128_STORAGE = _define("dtype.complex128.storage", "128-bit complex, storage", "tensors of it can be allocated, copied to the host and converted")
DTYPE_FP16_AUTOCAST = _define("dtype.fp16.autocast", "fp16 autocast", "torch.autocast takes float16 for this device type, and what it casts works")
DTYPE_BF16_AUTOCAST = _define("dtype.bf16.autocast", "bf16 autocast", "torch.autocast takes bfloat16 for this device type, and what it casts works")
DTYPE_FP16_GRAD_SCALER = _define("dtype.fp16.grad_scaler", "fp16 gradient scaler", "torch.amp.GradScaler works for this device type")

# runtime: ordering, timing, capture, randomness
RUNTIME_STREAMS = _define("runtime.streams", "streams", "independent work can be queued on several streams of the device")
RUNTIME_EVENTS = _define("runtime.events", "events", "events order work between streams and the host")
RUNTIME_EVENT_TIMING = _define("runtime.event_timing", "event timing", "two events tell the time that passed on the device between them")
RUNTIME_STREAM_PRIORITIES = _define("runtime.stream_priorities", "stream priorities", "streams can have different priorities")
RUNTIME_GRAPH_CAPTURE = _define("runtime.graph_capture", "graph capture", "a sequence of work can be captured and replayed, with the same result")
RUNTIME_RNG_PER_DEVICE = _define("runtime.rng_per_device", "random state per device", "each device has a generator with a state of its own")
RUNTIME_DETERMINISTIC = _define("runtime.deterministic", "deterministic algorithms", "deterministic algorithms can be selected")
RUNTIME_PROFILER_RANGES = _define("runtime.profiler_ranges", "profiler ranges", "named ranges reach the vendor's profiler")
RUNTIME_PROFILER_RANGES_DOMAIN = _define("runtime.profiler_ranges.domain", "profiler range domains", "named ranges can be put into domains")
RUNTIME_FORK_SAFE = _define("runtime.fork_safe", "fork after asking", "the device can be used in a forked child after the parent has asked about it through accelcaps")

# memory
MEMORY_PINNED_HOST = _define("memory.pinned_host", "pinned host memory", "page-locked host memory can be allocated, and the device copies from it asynchronously")
MEMORY_PINNED_HOST_NATIVE = _define("memory.pinned_host.native", "natively pinned memory", "DeepSpeed's own pin_memory op can lock host pages")
MEMORY_ASYNC_COPY = _define("memory.async_copy", "asynchronous copy", "copies between host and device overlap with the host's work")
MEMORY_STATS = _define("memory.stats", "memory statistics", "allocated, reserved and peak memory can be read")
MEMORY_PEER_ACCESS = _define("memory.peer_access", "peer access", "one device reads another's memory directly")
MEMORY_UNIFIED = _define("memory.unified", "unified memory", "one allocation is addressable from host and device, migrated on demand")
MEMORY_EXPANDABLE_SEGMENTS = _define("memory.expandable_segments", "expandable segments", "the caching allocator can grow segments in place")
MEMORY_IPC = _define("memory.ipc", "inter-process memory", "device memory can be shared with another process")

# comm: the accelerator's collective backend performs it, on this framework version
COMM_BACKEND = _define("comm.backend", "collective backend", "the accelerator's collective backend is there; the value is its name")
COMM_ALL_REDUCE = _define("comm.all_reduce", "all-reduce", "all_reduce works on float32 tensors")
COMM_REDUCE = _define("comm.reduce", "reduce", "reduce works on float32 tensors")
COMM_BROADCAST = _define("comm.broadcast", "broadcast", "broadcast works on float32 tensors")
COMM_ALL_GATHER = _define("comm.all_gather", "all-gather (list)", "all_gather works on float32 tensors")
COMM_ALL_GATHER_INTO_TENSOR = _define("comm.all_gather_into_tensor", "all-gather (one tensor)", "all_gather_into_tensor works on float32 tensors")
COMM_REDUCE_SCATTER = _define("comm.reduce_scatter", "reduce-scatter (list)", "reduce_scatter works on float32 tensors")
COMM_REDUCE_SCATTER_TENSOR = _define("comm.reduce_scatter_tensor", "reduce-scatter (one tensor)", "reduce_scatter_tensor works on float32 tensors")
COMM_ALL_TO_ALL = _define("comm.all_to_all", "all-to-all (list)", "all_to_all works on float32 tensors")
COMM_ALL_TO_ALL_SINGLE = _define("comm.all_to_all_single", "all-to-all (one tensor)", "all_to_all_single works on float32 tensors")
COMM_SEND_RECV = _define("comm.send_recv", "send and receive", "point-to-point send and receive work")
COMM_GATHER = _define("comm.gather", "gather", "gather works on float32 tensors")
COMM_SCATTER = _define("comm.scatter", "scatter", "scatter works on float32 tensors")
COMM_BARRIER = _define("comm.barrier", "barrier", "all ranks can wait for each other")
COMM_MONITORED_BARRIER = _define("comm.monitored_barrier", "monitored barrier", "a barrier that names the rank that did not come works")
COMM_COALESCING = _define("comm.coalescing", "coalesced groups", "several collectives can be issued as one group")
COMM_OBJECT_COLLECTIVES = _define("comm.object_collectives", "object collectives", "Python objects can be exchanged")
COMM_NEW_GROUP = _define("comm.new_group", "sub-groups", "sub-groups of ranks can be made")
COMM_DEVICE_MESH = _define("comm.device_mesh", "device mesh", "a device mesh can be made over the ranks")
COMM_ALL_REDUCE_BF16 = _define("comm.all_reduce.bf16", "all-reduce, bf16", "all_reduce works on bf16 tensors")
COMM_ALL_REDUCE_FP16 = _define("comm.all_reduce.fp16", "all-reduce, fp16", "all_reduce works on fp16 tensors")
COMM_ALL_REDUCE_FP8 = _define("comm.all_reduce.fp8", "all-reduce, fp8", "all_reduce works on fp8 tensors")
COMM_REDUCE_BF16 = _define("comm.reduce.bf16", "reduce, bf16", "reduce works on bf16 tensors")
COMM_REDUCE_FP16 = _define("comm.reduce.fp16", "reduce, fp16", "reduce works on fp16 tensors")
COMM_REDUCE_FP8 = _define("comm.reduce.fp8", "reduce, fp8", "reduce works on fp8 tensors")
COMM_BROADCAST_BF16 = _define("comm.broadcast.bf16", "broadcast, bf16", "broadcast works on bf16 tensors")
COMM_BROADCAST_FP16 = _define("comm.broadcast.fp16", "broadcast, fp16", "broadcast works on fp16 tensors")
COMM_BROADCAST_FP8 = _define("comm.broadcast.fp8", "broadcast, fp8", "broadcast works on fp8 tensors")
COMM_ALL_GATHER_BF16 = _define("comm.all_gather.bf16", "all-gather (list), bf16", "all_gather works on bf16 tensors")
COMM_ALL_GATHER_FP16 = _define("comm.all_gather.fp16", "all-gather (list), fp16", "all_gather works on fp16 tensors")
COMM_ALL_GATHER_FP8 = _define("comm.all_gather.fp8", "all-gather (list), fp8", "all_gather works on fp8 tensors")
COMM_ALL_GATHER_INTO_TENSOR_BF16 = _define("comm.all_gather_into_tensor.bf16", "all-gather (one tensor), bf16", "all_gather_into_tensor works on bf16 tensors")
COMM_ALL_GATHER_INTO_TENSOR_FP16 = _define("comm.all_gather_into_tensor.fp16", "all-gather (one tensor), fp16", "all_gather_into_tensor works on fp16 tensors")
COMM_ALL_GATHER_INTO_TENSOR_FP8 = _define("comm.all_gather_into_tensor.fp8", "all-gather (one tensor), fp8", "all_gather_into_tensor works on fp8 tensors")
COMM_REDUCE_SCATTER_BF16 = _define("comm.reduce_scatter.bf16", "reduce-scatter (list), bf16", "reduce_scatter works on bf16 tensors")
COMM_REDUCE_SCATTER_FP16 = _define("comm.reduce_scatter.fp16", "reduce-scatter (list), fp16", "reduce_scatter works on fp16 tensors")
COMM_REDUCE_SCATTER_FP8 = _define("comm.reduce_scatter.fp8", "reduce-scatter (list), fp8", "reduce_scatter works on fp8 tensors")
COMM_REDUCE_SCATTER_TENSOR_BF16 = _define("comm.reduce_scatter_tensor.bf16", "reduce-scatter (one tensor), bf16", "reduce_scatter_tensor works on bf16 tensors")
COMM_REDUCE_SCATTER_TENSOR_FP16 = _define("comm.reduce_scatter_tensor.fp16", "reduce-scatter (one tensor), fp16", "reduce_scatter_tensor works on fp16 tensors")
COMM_REDUCE_SCATTER_TENSOR_FP8 = _define("comm.reduce_scatter_tensor.fp8", "reduce-scatter (one tensor), fp8", "reduce_scatter_tensor works on fp8 tensors")
COMM_ALL_TO_ALL_SINGLE_BF16 = _define("comm.all_to_all_single.bf16", "all-to-all (one tensor), bf16", "all_to_all_single works on bf16 tensors")
COMM_ALL_TO_ALL_SINGLE_FP16 = _define("comm.all_to_all_single.fp16", "all-to-all (one tensor), fp16", "all_to_all_single works on fp16 tensors")
COMM_ALL_TO_ALL_SINGLE_FP8 = _define("comm.all_to_all_single.fp8", "all-to-all (one tensor), fp8", "all_to_all_single works on fp8 tensors")
COMM_SEND_RECV_BF16 = _define("comm.send_recv.bf16", "send and receive, bf16", "send_recv works on bf16 tensors")
COMM_SEND_RECV_FP16 = _define("comm.send_recv.fp16", "send and receive, fp16", "send_recv works on fp16 tensors")
COMM_SEND_RECV_FP8 = _define("comm.send_recv.fp8", "send and receive, fp8", "send_recv works on fp8 tensors")
COMM_ALL_REDUCE_AVG = _define("comm.all_reduce.avg", "all-reduce, avg", "all_reduce can reduce by AVG, right on any number of ranks")
COMM_ALL_REDUCE_PREMUL_SUM = _define("comm.all_reduce.premul_sum", "all-reduce, premul_sum", "all_reduce can reduce by PREMUL_SUM, right on any number of ranks")
COMM_REDUCE_SCATTER_AVG = _define("comm.reduce_scatter.avg", "reduce-scatter (list), avg", "reduce_scatter can reduce by AVG, right on any number of ranks")
COMM_REDUCE_SCATTER_TENSOR_AVG = _define("comm.reduce_scatter_tensor.avg", "reduce-scatter (one tensor), avg", "reduce_scatter_tensor can reduce by AVG, right on any number of ranks")
COMM_SYMMETRIC_MEMORY = _define("comm.symmetric_memory", "symmetric memory", "ranks can map each other's buffers and run kernels over them")
COMM_GPU_DIRECT_RDMA = _define("comm.gpu_direct_rdma", "GPUDirect RDMA", "the network adapter reads and writes device memory directly")

# compile, triton, build: turning source into code for the device, now and here
COMPILE_TORCH_COMPILE = _define("compile.torch_compile", "torch.compile", "a function compiled for this device runs and agrees with eager")
COMPILE_INDUCTOR = _define("compile.inductor", "inductor", "the inductor backend generates code for this device")
COMPILE_DEEPCOMPILE = _define("compile.deepcompile", "DeepCompile", "DeepSpeed's compiler passes work on this accelerator")
TRITON_INSTALLED = _define("triton.installed", "triton package", "the triton package is installed")
TRITON_DEVICE = _define("triton.device", "triton's hardware", "the hardware is one that triton targets")
TRITON_USABLE = _define("triton.usable", "triton", "a triton kernel compiles and runs on this device")
BUILD_CC = _define("build.cc", "C compiler", "a C compiler is there and runs, for what compiles small C programs at run time")
BUILD_CXX = _define("build.cxx", "C++ extensions", "a C++ extension of the framework can be compiled now")
BUILD_CUDA = _define("build.cuda", "CUDA extensions", "a CUDA extension can be compiled now, for this device, against this framework")
BUILD_HIP = _define("build.hip", "HIP extensions", "a HIP extension can be compiled now, for this device, against this framework")
BUILD_SYCL = _define("build.sycl", "SYCL extensions", "a SYCL extension can be compiled now, for this device, against this framework")
BUILD_NINJA = _define("build.ninja", "ninja", "ninja is on PATH and runs")
BUILD_PYTHON_HEADERS = _define("build.python_headers", "Python headers", "Python.h is where the build looks for it")
BUILD_KERNEL_IMAGE = _define("build.kernel_image", "kernels for this device", "the installed framework carries kernels that this device can run")
BUILD_DRIVER = _define("build.driver", "driver for this framework", "the driver is new enough for the installed framework")

# attention: that implementation runs on this device
ATTENTION_SDPA = _define("attention.sdpa", "scaled dot product", "torch's scaled_dot_product_attention runs")
ATTENTION_FLASH_ATTENTION = _define("attention.flash_attention", "flash attention", "torch's flash attention kernel runs")
ATTENTION_MEM_EFFICIENT = _define("attention.mem_efficient", "memory-efficient attention", "torch's memory-efficient attention kernel runs")
ATTENTION_CUDNN = _define("attention.cudnn", "cuDNN attention", "torch's cuDNN attention runs")
ATTENTION_FLASH_ATTN_PACKAGE = _define("attention.flash_attn_package", "flash-attn package", "the flash-attn package is installed and its kernels run")
ATTENTION_FLASH_ATTN_3 = _define("attention.flash_attn_3", "flash-attn 3", "the flash-attn-3 package is installed and its kernels run")

# op: the op can be loaded and used here (DeepSpeed's builders reflect themselves, under these and any new names)
OP_ASYNC_IO = _define("op.async_io", "asynchronous file I/O", "DeepSpeed's async_io op can be loaded and used here")
OP_GDS = _define("op.gds", "GPUDirect Storage", "DeepSpeed's gds op can be loaded and used here")
OP_PIN_MEMORY = _define("op.pin_memory", "native page locking", "DeepSpeed's pin_memory op can be loaded and used here")
OP_CPU_ADAM = _define("op.cpu_adam", "cpu adam", "DeepSpeed's cpu_adam op can be loaded and used here")
OP_CPU_ADAGRAD = _define("op.cpu_adagrad", "cpu adagrad", "DeepSpeed's cpu_adagrad op can be loaded and used here")
OP_CPU_LION = _define("op.cpu_lion", "cpu lion", "DeepSpeed's cpu_lion op can be loaded and used here")
OP_FUSED_ADAM = _define("op.fused_adam", "fused adam", "DeepSpeed's fused_adam op can be loaded and used here")
OP_FUSED_LAMB = _define("op.fused_lamb", "fused lamb", "DeepSpeed's fused_lamb op can be loaded and used here")
OP_FUSED_LION = _define("op.fused_lion", "fused lion", "DeepSpeed's fused_lion op can be loaded and used here")
OP_QUANTIZER = _define("op.quantizer", "quantizer", "DeepSpeed's quantizer op can be loaded and used here")
OP_FP_QUANTIZER = _define("op.fp_quantizer", "fp quantizer", "DeepSpeed's fp_quantizer op can be loaded and used here")
OP_TRANSFORMER = _define("op.transformer", "transformer", "DeepSpeed's transformer op can be loaded and used here")
OP_STOCHASTIC_TRANSFORMER = _define("op.stochastic_transformer", "stochastic transformer", "DeepSpeed's stochastic_transformer op can be loaded and used here")
OP_TRANSFORMER_INFERENCE = _define("op.transformer_inference", "transformer inference", "DeepSpeed's transformer_inference op can be loaded and used here")
OP_INFERENCE_CORE_OPS = _define("op.inference_core_ops", "inference core ops", "DeepSpeed's inference_core_ops op can be loaded and used here")
OP_CUTLASS_OPS = _define("op.cutlass_ops", "cutlass ops", "DeepSpeed's cutlass_ops op can be loaded and used here")
OP_RAGGED_DEVICE_OPS = _define("op.ragged_device_ops", "ragged device ops", "DeepSpeed's ragged_device_ops op can be loaded and used here")
OP_RAGGED_OPS = _define("op.ragged_ops", "ragged ops", "DeepSpeed's ragged_ops op can be loaded and used here")
OP_SPATIAL_INFERENCE = _define("op.spatial_inference", "spatial inference", "DeepSpeed's spatial_inference op can be loaded and used here")
OP_SPARSE_ATTN = _define("op.sparse_attn", "block-sparse attention", "DeepSpeed's sparse_attn op can be loaded and used here")
OP_EVOFORMER_ATTN = _define("op.evoformer_attn", "evoformer attention", "DeepSpeed's evoformer_attn op can be loaded and used here")
OP_RANDOM_LTD = _define("op.random_ltd", "random layer-token drop", "DeepSpeed's random_ltd op can be loaded and used here")
OP_DC = _define("op.dc", "DeepCompile kernels", "DeepSpeed's dc op can be loaded and used here")
OP_UTILS = _define("op.utils", "tensor flattening", "DeepSpeed's utils op can be loaded and used here")
OP_FLASH_ATTN = _define("op.flash_attn", "flash attn", "DeepSpeed's flash_attn op can be loaded and used here")
OP_PACK_BITS = _define("op.pack_bits", "bit packing", "DeepSpeed's pack_bits op can be loaded and used here")
OP_DEEPSPEED_CCL_COMM = _define("op.deepspeed_ccl_comm", "oneCCL collectives", "DeepSpeed's deepspeed_ccl_comm op can be loaded and used here")
OP_DEEPSPEED_SHM_COMM = _define("op.deepspeed_shm_comm", "shared-memory collectives", "DeepSpeed's deepspeed_shm_comm op can be loaded and used here")
OP_GROUPED_MM = _define("op.grouped_mm", "grouped matrix product", "torch._grouped_mm runs on this device at hardware speed")

# deepspeed: what the installed DeepSpeed accepts on this accelerator, by its own word
DEEPSPEED_INSTALLED = _define("deepspeed.installed", "DeepSpeed", "DeepSpeed is installed")
DEEPSPEED_FP16 = _define("deepspeed.fp16", "DeepSpeed takes fp16", "the installed DeepSpeed accepts fp16.enabled on this accelerator")
DEEPSPEED_BF16 = _define("deepspeed.bf16", "DeepSpeed takes bf16", "the installed DeepSpeed accepts bf16.enabled on this accelerator")

# zero: follow from device, runtime and collectives; no accelerator declares them
ZERO_1 = _define("zero.1", "ZeRO stage 1", "optimizer states can be partitioned over the ranks")
ZERO_2 = _define("zero.2", "ZeRO stage 2", "optimizer states and gradients can be partitioned over the ranks")
ZERO_3 = _define("zero.3", "ZeRO stage 3", "optimizer states, gradients and parameters can be partitioned over the ranks")

# host: its limit is large enough for what uses it
HOST_SHM = _define("host.shm", "shared memory", "/dev/shm is large enough for the collectives and data loaders that use it")
HOST_MEMLOCK = _define("host.memlock", "locked memory", "enough memory may be locked for what pins or registers it")

# limit: a value, with evidence
LIMIT_DEVICE_COUNT = _define("limit.device_count", "devices", "how many devices are visible")
LIMIT_MEMORY_BYTES = _define("limit.memory_bytes", "device memory", "memory of the smallest device, in bytes")
LIMIT_COMPUTE_CAPABILITY = _define("limit.compute_capability", "compute capability", "compute capability of the oldest device, major.minor")
LIMIT_ARCH = _define("limit.arch", "architecture", "architecture name of the oldest device")
LIMIT_SHARED_MEMORY_PER_BLOCK = _define("limit.shared_memory_per_block", "shared memory per block", "shared memory that a block may opt in to, in bytes")
LIMIT_WARP_SIZE = _define("limit.warp_size", "warp size", "threads that run in lock step")
LIMIT_CORES = _define("limit.cores", "cores", "multiprocessors of the smallest device, or CPU cores")
LIMIT_DRIVER_VERSION = _define("limit.driver_version", "driver version", "version of the device driver")
LIMIT_RUNTIME_VERSION = _define("limit.runtime_version", "runtime version", "version of the runtime that the framework was built with")
LIMIT_COMM_VERSION = _define("limit.comm_version", "collective library version", "version of the collective library")
LIMIT_MEMLOCK_BYTES = _define("limit.memlock_bytes", "lockable memory", "bytes a process may lock")
LIMIT_SHM_BYTES = _define("limit.shm_bytes", "shared memory size", "size of /dev/shm in bytes")

REGISTRY.open_group("pkg", "package {}", "the package {} is installed, and a child process can import it")

# The words of the discussion that this project grew out of.
REGISTRY.alias("zero1", ZERO_1)
REGISTRY.alias("zero2", ZERO_2)
REGISTRY.alias("zero3", ZERO_3)
REGISTRY.alias("sparse_attn", OP_SPARSE_ATTN)


def get(name: str) -> Feature:
    """Return the feature called ``name``; see :meth:`FeatureRegistry.get`."""
    return REGISTRY.get(name)


def register(name: str, title: str, meaning: str, *, by: str) -> Feature:
    """Add a vendor's feature; see :meth:`FeatureRegistry.register`."""
    return REGISTRY.register(name, title, meaning, by=by)

