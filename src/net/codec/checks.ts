import { InvalidFrameError } from './invalid-frame-error.ts'

/** @throws InvalidFrameError for what is not an integer from `min` to `max` */
export function checkInteger(field: string, value: unknown, max: number, min = 0): asserts value is number {
  if (!(Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max)) {
    throw new InvalidFrameError(field, value, `an integer from ${min} to ${max}`)
  }
}

/** @throws InvalidFrameError past a limit of `FrameLimits` */
export function checkCount(field: string, count: number, max: number): void {
  if (count > max) {
    throw new InvalidFrameError(field, count, `at most ${max} in a frame`)
  }
}

/** The list itself. @throws InvalidFrameError for what is no array of objects or texts, or too long */
export function checkedList<T>(field: string, list: readonly T[], max: number): readonly T[] {
  if (!Array.isArray(list)) {
    throw new InvalidFrameError(field, list, 'an array')
  }
  checkCount(field, list.length, max)
  for (const item of list as readonly unknown[]) {
    if (item === null || item === undefined) {
      throw new InvalidFrameError(field, item, 'an array without holes')
    }
  }
  return list
}

/** 1 for true, 0 for false. @throws InvalidFrameError for anything else */
export function bitOf(field: string, value: boolean): number {
  if (typeof value !== 'boolean') {
    throw new InvalidFrameError(field, value, 'true or false')
  }
  return value ? 1 : 0
}
