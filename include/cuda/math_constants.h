/* Constants of the mathematics, by CUDA's names. In device code infinity and NaN are bit patterns;
 * the host has its own.
 * SPDX-License-Identifier: Apache-2.0 */
#if !defined(WEIR_CUDA_MATH_CONSTANTS_H) && !defined(__MATH_CONSTANTS_H__)
#define WEIR_CUDA_MATH_CONSTANTS_H
#define __MATH_CONSTANTS_H__

/* --- float --- */
#define CUDART_INF_F            __builtin_inff()
#define CUDART_NAN_F            __builtin_nanf("0x3fffff")
#define CUDART_MIN_DENORM_F     1.4012984643e-45f
#define CUDART_MAX_NORMAL_F     3.4028234664e+38f
#define CUDART_NEG_ZERO_F       -0.0f
#define CUDART_ZERO_F           0.0f
#define CUDART_ONE_F            1.0f
#define CUDART_SQRT_TWO_F       1.414213562f
#define CUDART_SQRT_HALF_F      0.7071067812f
#define CUDART_THIRD_F          0.3333333333f
#define CUDART_TWOTHIRD_F       0.6666666667f
#define CUDART_PIO4_F           0.7853981634f
#define CUDART_PIO2_F           1.570796327f
#define CUDART_3PIO4_F          2.356194490f
#define CUDART_2_OVER_PI_F      0.6366197724f
#define CUDART_SQRT_2_OVER_PI_F 0.7978845608f
#define CUDART_SQRT_2PI_F       2.506628275f
#define CUDART_SQRT_PIO2_F      1.253314137f
#define CUDART_PI_F             3.141592654f
#define CUDART_L2E_F            1.442695041f
#define CUDART_L2T_F            3.321928095f
#define CUDART_LG2_F            0.3010299957f
#define CUDART_LGE_F            0.4342944819f
#define CUDART_LN2_F            0.6931471806f
#define CUDART_LNT_F            2.302585093f
#define CUDART_LNPI_F           1.144729886f
#define CUDART_TWO_TO_M126_F    1.1754943508e-38f
#define CUDART_TWO_TO_126_F     8.5070591730e+37f
#define CUDART_NORM_HUGE_F      3.4028234664e+38f
#define CUDART_TWO_TO_23_F      8388608.0f
#define CUDART_TWO_TO_24_F      16777216.0f
#define CUDART_TWO_TO_31_F      2147483648.0f
#define CUDART_TWO_TO_32_F      4294967296.0f

/* --- double --- */
#define CUDART_INF            __builtin_inf()
#define CUDART_NAN            __builtin_nan("0")
#define CUDART_NEG_ZERO       -0.0
#define CUDART_MIN_DENORM     4.9406564584124654418e-324
#define CUDART_ZERO           0.0
#define CUDART_ONE            1.0
#define CUDART_SQRT_TWO       1.4142135623730950488
#define CUDART_SQRT_HALF      0.70710678118654752440
#define CUDART_THIRD          0.33333333333333333333
#define CUDART_TWOTHIRD       0.66666666666666666667
#define CUDART_PIO4           0.78539816339744830962
#define CUDART_PIO2           1.5707963267948966192
#define CUDART_3PIO4          2.3561944901923449288
#define CUDART_2_OVER_PI      0.63661977236758134308
#define CUDART_SQRT_2_OVER_PI 0.79788456080286535588
#define CUDART_SQRT_2PI       2.5066282746310005024
#define CUDART_SQRT_PIO2      1.2533141373155002512
#define CUDART_PI             3.1415926535897932385
#define CUDART_L2E            1.4426950408889634074
#define CUDART_L2T            3.3219280948873623479
#define CUDART_LG2            0.30102999566398119521
#define CUDART_LGE            0.43429448190325182765
#define CUDART_LN2            0.69314718055994530942
#define CUDART_LNT            2.3025850929940456840
#define CUDART_LNPI           1.1447298858494001741
#define CUDART_TWO_TO_23      8388608.0
#define CUDART_TWO_TO_52      4503599627370496.0
#define CUDART_TWO_TO_53      9007199254740992.0
#define CUDART_TWO_TO_54      18014398509481984.0
#define CUDART_TWO_TO_M54     5.5511151231257827021e-17
#define CUDART_TWO_TO_M1022   2.2250738585072013831e-308

#endif
