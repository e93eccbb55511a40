// A kernel of numelt's:
//   kernel
//     a0 load f64 any any
//     a1 load f64 any zero
//     a2 load i32 zero any
//     a3 store f64 any unit
//     for i0
//       for i1
//         v0 = load a0
//         v1 = load a1
//         v2 = multiply.f64 v0, v1
//         v3 = load a2
//         v4 = cast.f64 v3
//         v5 = add.f64 v2, v4
//         a3 = v5
// OpenCL C 1.2
#pragma OPENCL FP_CONTRACT OFF
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef char i8;
typedef uchar u8;
typedef short i16;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef float f32;
typedef double f64;
typedef u16 f16;  // the bits of a half; arithmetic on halves is that of f32
typedef struct { f32 re, im; } c64;
typedef struct { f64 re, im; } c128;
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
#define BITS_f64(x) as_ulong(x)
#define FROM_BITS_f64(x) as_double((u64)(x))
#ifndef QUOTIENT_f32
// for compilers that round quotients and roots correctly, asked by -cl-fp32-correctly-rounded-divide-sqrt
#define QUOTIENT_f32(a, b) ((a) / (b))
#define ROOT_f32(x) sqrt(x)
#endif
#define QUOTIENT_f64(a, b) ((a) / (b))
#define ROOT_f64(x) sqrt(x)

// Conditions that a result may tell of: an infinity of finite numbers, NaN of numbers, a result near zero.
FUNCTION u32 met2_f64(f64 r, f64 a, f64 b)
{
    if (isnan(r)) return isnan(a) || isnan(b) ? 0 : 8;
    if (isinf(r)) return isfinite(a) && isfinite(b) ? 3 : 0;
    return fabs(r) < 2.2250738585072014e-308 ? 4 : 0;
}


KERNEL void numelt_kernel(i64 points, i64 n0, i64 n1, GLOBAL const f64 *a0, i64 o0, i64 s0_0, i64 s0_1, GLOBAL const f64 *a1, i64 o1, i64 s1_0, GLOBAL const i32 *a2, i64 o2, i64 s2_1, GLOBAL f64 *a3, i64 o3, i64 s3_0, GLOBAL u32 *conditions, i64 word)
{
    u32 met = 0;  // floating-point conditions
    ROLLED
    for (i64 point = GROUP * LANES + LANE; point < points; point += GROUPS * LANES) {
        i32 rest = (i32)point;
        const i32 i1 = rest % (i32)n1;
        rest /= (i32)n1;
        const i32 i0 = rest;
        const f64 v0 = a0[o0 + (i64)i0 * s0_0 + (i64)i1 * s0_1];
        const f64 v1 = a1[o1 + (i64)i0 * s1_0];
        const f64 v2 = v0 * v1;
        met |= (met2_f64(v2, v0, v1) & 14);
        const i32 v3 = a2[o2 + (i64)i1 * s2_1];
        const f64 v4 = (f64)v3;
        const f64 v5 = v2 + v4;
        met |= (met2_f64(v5, v2, v4) & 14);
        a3[o3 + (i64)i0 * s3_0 + i1] = v5;
    }
    if (met != 0) RAISE(conditions + word, met);
}
