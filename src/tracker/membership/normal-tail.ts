const LOG_SQRT_2PI = Math.log(2 * Math.PI) / 2
/** Up to here the series is used, past it the continued fraction: both are good to 12 digits there. */
const SWITCH = 2.5
const FRACTION_TERMS = 80
const SERIES_TERMS_MAX = 100

/**
 * ln(1 − F(z)) for the standard normal distribution, to about 12 digits, for every z: past 38, where 1 − F is 0 as
 * a double, it goes on to fall like −z²/2. −Infinity for Infinity, 0 for −Infinity.
 *
 * Abramowitz, Stegun, Handbook of Mathematical Functions, 26.2.11 (series) and 26.2.14 (continued fraction).
 */
export function logNormalTail(z: number): number {
  if (z > SWITCH) {
    return logFarTail(z)
  }
  // Left of 0 the tail is 1 − a tiny number, which only log1p keeps.
  return z < -SWITCH ? Math.log1p(-Math.exp(logFarTail(-z))) : Math.log(0.5 - centralArea(z))
}

/** z + 1/(z + 2/(z + 3/(z + …))), from its end, is density(z) / tail(z). */
function logFarTail(z: number): number {
  let fraction = z
  for (let term = FRACTION_TERMS; term >= 1; term--) {
    fraction = z + term / fraction
  }
  return -(z * z) / 2 - LOG_SQRT_2PI - Math.log(fraction)
}

/** F(z) − 1/2: density(z) · (z + z³/3 + z⁵/(3·5) + …). */
function centralArea(z: number): number {
  let term = z
  let sum = z
  for (let k = 1; k < SERIES_TERMS_MAX && Math.abs(term) > 1e-18; k++) {
    term *= (z * z) / (2 * k + 1)
    sum += term
  }
  return sum * Math.exp(-(z * z) / 2 - LOG_SQRT_2PI)
}
