// A kernel of numelt's:
//   kernel
//     a0 load f32 any unit
//     a1 reduced i64 zero unit
//     for i0 reduced
//       for i1
//         v0 = load a0
//         a1 <- argmax.f32 v0
// OpenCL C 1.2
#pragma OPENCL FP_CONTRACT OFF
typedef char i8;
typedef uchar u8;
typedef short i16;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef float f32;
typedef u16 f16;  // the bits of a half; arithmetic on halves is that of f32
typedef struct { f32 re, im; } c64;
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
#ifndef QUOTIENT_f32
// for compilers that round quotients and roots correctly, asked by -cl-fp32-correctly-rounded-divide-sqrt
#define QUOTIENT_f32(a, b) ((a) / (b))
#define ROOT_f32(x) sqrt(x)
#endif


KERNEL void numelt_kernel(i64 points, i64 n0, i64 n1, GLOBAL const f32 *a0, i64 o0, i64 s0_0, GLOBAL i64 *a1, i64 o1, i64 items, i64 outer)
{
    ROLLED
    for (i64 item = GROUP * LANES + LANE; item < items; item += GROUPS * LANES) {
        const i64 i1 = item;
        f32 result0 = 0;
        i64 found0 = 0;
        for (i64 at = 0; at < outer; at++) {
            const i64 i0 = at;
            const f32 v0 = a0[o0 + (i64)i0 * s0_0 + i1];
            const f32 value0 = v0;
            if (at == 0) {
                result0 = value0; found0 = at;
            } else {
                if (!(isnan(result0)) && ((isnan(value0)) || (value0 > result0))) {
                    result0 = value0;
                    found0 = at;
                }
            }
        }
        const i64 out0 = found0;
        a1[o1 + i1] = out0;
    }
}
