//! The two languages: the prologue of a kernel's text. The text itself is the same in both.

/// A language in which kernels are rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// CUDA C++, for NVRTC (`--fmad=false`) or nvcc.
    Cuda,
    /// OpenCL C 1.2.
    OpenCl,
}

impl Dialect {
    /// Both.
    pub const ALL: [Dialect; 2] = [Dialect::Cuda, Dialect::OpenCl];

    /// The prologue that defines the words with which kernels are written; `double` says whether the kernel has f64.
    pub(super) fn prologue(self, double: bool) -> String {
        match self {
            Dialect::Cuda => CUDA.to_owned(),
            Dialect::OpenCl if double => OPENCL.replace("//f64 ", ""),
            Dialect::OpenCl => OPENCL.lines().filter(|line| !line.contains("//f64 ")).fold(String::new(), join),
        }
    }
}

fn join(text: String, line: &str) -> String {
    text + line + "\n"
}

const CUDA: &str = "\
// CUDA C++; compile with --fmad=false.
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
typedef u16 f16;  // the bits of a half; arithmetic on halves is that of f32
struct c64 { f32 re, im; };
struct c128 { f64 re, im; };
#define ALIGNED(bytes) __align__(bytes)
#define UNROLLED _Pragma(\"unroll\")
#define ROLLED _Pragma(\"unroll 1\")
#define FUNCTION static __device__
// groups have at most 256 work-items, which leaves each of them 255 registers
#define KERNEL extern \"C\" __global__ __launch_bounds__(256)
#define GLOBAL
#define LOCAL __shared__
#define TABLE static __device__ const
#define LANE ((i64)threadIdx.x)
#define LANES ((i64)blockDim.x)
#define GROUP ((i64)blockIdx.x)
#define GROUPS ((i64)gridDim.x)
#define BARRIER() __syncthreads()
#define RAISE(word, bits) atomicOr(word, bits)
#define ATOMIC_ADD_32(p, x) atomicAdd(p, x)
#define ATOMIC_MAX_32(p, x) atomicMax(p, x)
#define ATOMIC_MIN_32(p, x) atomicMin(p, x)
#define ATOMIC_ADD_64(p, x) atomicAdd(p, x)
#define ATOMIC_MAX_64(p, x) atomicMax(p, x)
#define ATOMIC_MIN_64(p, x) atomicMin(p, x)
#define HIGH_PRODUCT(a, b) __umul64hi(a, b)
#define BITS_f32(x) ((u32)__float_as_int(x))
#define FROM_BITS_f32(x) __int_as_float((int)(x))
#define BITS_f64(x) ((u64)__double_as_longlong(x))
#define FROM_BITS_f64(x) __longlong_as_double((long long)(x))
#define QUOTIENT_f32(a, b) ((a) / (b))
#define QUOTIENT_f64(a, b) ((a) / (b))
#define ROOT_f32(x) sqrt(x)
#define ROOT_f64(x) sqrt(x)
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fc00000)
#endif
";

const OPENCL: &str = "\
// OpenCL C 1.2
#pragma OPENCL FP_CONTRACT OFF
//f64 #pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef char i8;
typedef uchar u8;
typedef short i16;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef float f32;
//f64 typedef double f64;
typedef u16 f16;  // the bits of a half; arithmetic on halves is that of f32
typedef struct { f32 re, im; } c64;
//f64 typedef struct { f64 re, im; } c128;
#define ALIGNED(bytes) __attribute__((aligned(bytes)))
#define UNROLLED
#define ROLLED
#define FUNCTION static
#define KERNEL __kernel
#define GLOBAL __global
#define LOCAL __local
#define TABLE __constant
#define LANE ((i64)get_local_id(0))
#define LANES ((i64)get_local_size(0))
#define GROUP ((i64)get_group_id(0))
#define GROUPS ((i64)get_num_groups(0))
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define RAISE(word, bits) atomic_or(word, bits)
#define ATOMIC_ADD_32(p, x) atomic_add(p, x)
#define ATOMIC_MAX_32(p, x) atomic_max(p, x)
#define ATOMIC_MIN_32(p, x) atomic_min(p, x)
#define ATOMIC_ADD_64(p, x) atom_add(p, x)
#define ATOMIC_MAX_64(p, x) atom_max(p, x)
#define ATOMIC_MIN_64(p, x) atom_min(p, x)
#define HIGH_PRODUCT(a, b) mul_hi(a, b)
#define BITS_f32(x) as_uint(x)
#define FROM_BITS_f32(x) as_float((u32)(x))
//f64 #define BITS_f64(x) as_ulong(x)
//f64 #define FROM_BITS_f64(x) as_double((u64)(x))
#ifndef QUOTIENT_f32
// for compilers that round quotients and roots correctly, asked by -cl-fp32-correctly-rounded-divide-sqrt
#define QUOTIENT_f32(a, b) ((a) / (b))
#define ROOT_f32(x) sqrt(x)
#endif
//f64 #define QUOTIENT_f64(a, b) ((a) / (b))
//f64 #define ROOT_f64(x) sqrt(x)
";
