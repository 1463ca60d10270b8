"""The error function and its complement as polynomials."""

from __future__ import annotations

from .algebra import Term, fma, polynomial, where
from .types import FLOAT32, FLOAT64
from .vector_math_exp import exp, exp_times_power_of_two

# erf(x) / x as a polynomial in x², up to |x| = 1
_NEAR32 = (1.128379167063171, -0.37612638483886596, 0.11283782747977789, -0.026865445852357506, 0.005221074937334529, -0.0008484712002926057, 0.0001127054668433181, -9.680138237350016e-06)  # fmt: skip
_NEAR64 = (1.1283791670955126, -0.37612638903183754, 0.1128379167095512, -0.026866170645129868, 0.005223977625423611, -0.0008548327021956025, 0.000120553329038126, -1.4925647594497853e-05, 1.646204598055763e-06, -1.636464955146516e-07, 1.479246964452013e-08, -1.216496861716556e-09, 8.710465336650472e-11, -4.23312952867958e-12)  # fmt: skip
# -log(1 - erf(x)), from 0.7 (in float64 from 1) to where erf rounds to 1
_FAR32 = (-7.033925506516371e-05, 1.1289190416762651, 0.634805344892099, 0.10628406868542255, -0.02345024973244961, 0.003298395352434113, -0.00015609441522633727, -2.8413836546716586e-05, 3.757619402744893e-06)  # fmt: skip
_FAR64 = (1.7962549690091522e-07, 1.1283773292085122, 0.6366284891911292, 0.10274725128509242, -0.01907815314862997, -0.00028049273412740315, 0.0017690055924650687, -0.0006411772386432616, 4.482574841724623e-05, 7.036472679514483e-05, -4.503648568740266e-05, 1.651361202426201e-05, -4.326950125906123e-06, 8.505548818401334e-07, -1.2570195804858962e-07, 1.3626372074546572e-08, -1.0256757849830185e-09, 4.7959210331280386e-11, -1.0495959992719658e-12)  # fmt: skip
# erfc(x)·e^(x²)·(1 + 2x) as a polynomial in (x - 4) / (x + 4)
_TAIL = (1.2329951186255526, -0.13962111684056253, 0.015379652102620073, 0.06809705425469312, -0.10103906603632705, 0.09373283499833099, -0.06633036581160581, 0.03716751553790582, -0.01619773406625217, 0.005031969972160753, -0.0007577732207143621, -0.00019925664409390202, 0.00015062133997376136, -2.4399493162723262e-05, -1.1220986032468021e-05, 5.710713953684158e-06, 2.918028810917862e-07, -8.27617843026164e-07, 7.685846686250256e-08, 1.1307071152427761e-07, -1.9015197853865107e-08, -1.643908464756837e-08, 1.6929824462091703e-09, 2.0451377677169534e-09, 2.717998036062223e-10)  # fmt: skip


def _near(x: Term) -> Term:
    c = _NEAR32 if x.dtype == FLOAT32 else _NEAR64
    z = x * x
    return fma(x, c[0], x * z * polynomial(z, c[1:]))


def erf(x: Term) -> Term:
    single = x.dtype == FLOAT32
    end = 4.0 if single else 6.0
    size = x.abs()
    size = where(size.compare("gt", end), x.like(end), size)
    far = 1.0 - exp(-polynomial(size, _FAR32 if single else _FAR64))
    return where(size.compare("lt", 0.75 if single else 1.0), _near(x), far).call("copysign", x)


def erfc(x: Term) -> Term:
    """1 - erf(x) near zero, else by e^(-x²) with the rounding error of x²; float32 by way of float64."""
    if x.dtype == FLOAT32:
        return erfc(x.to(FLOAT64)).to(FLOAT32)
    size = x.abs()
    size = where(size.compare("gt", 28.0), x.like(28.0), size)
    square = size * size
    high = (size.bits() & -(1 << 27)).as_float(FLOAT64)
    low = size - high
    lost = ((high * high - square) + 2.0 * (high * low)) + low * low
    power = exp_times_power_of_two(-square, 0, -lost)
    tail = power * polynomial((size - 4.0) / (size + 4.0), _TAIL) / (1.0 + 2.0 * size)
    far = where(x.compare("lt", 0.0), 2.0 - tail, tail)
    return where(size.compare("lt", 0.5), 1.0 - _near(x), far)
