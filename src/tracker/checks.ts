/*
 * Guards of arguments that only a mistake in the calling code gets wrong. Options of users are checked by options.ts.
 */

/** @throws RangeError naming the argument, its value and what is allowed */
export function checkInteger(name: string, value: number, min: number, max: number): void {
  if (!Number.isSafeInteger(value) || value < min || value > max) {
    throw new RangeError(`${name} is ${value}, allowed is an integer from ${min} to ${max}`)
  }
}

/** @throws RangeError naming the argument, its value and what is allowed */
export function checkFinite(name: string, value: number): void {
  if (!Number.isFinite(value)) {
    throw new RangeError(`${name} is ${value}, allowed is a finite number`)
  }
}

/** A duration may be 0. @throws RangeError naming the argument, its value and what is allowed */
export function checkDuration(name: string, value: number): void {
  if (!(value >= 0 && value < Infinity)) {
    throw new RangeError(`${name} is ${value}, allowed is a finite number from 0`)
  }
}

/** More than 0. @throws RangeError naming the argument, its value and what is allowed */
export function checkPositive(name: string, value: number, max: number): void {
  if (!(value > 0 && value <= max)) {
    throw new RangeError(`${name} is ${value}, allowed is a number above 0, up to ${max}`)
  }
}
