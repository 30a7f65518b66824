import { DURATION_ALLOWED, parseDuration, writeDuration } from './durations.ts'

/** How one type of value is read, from text (flag, variable) or from JSON (file). */
export interface Kind<T> {
  /** Undefined when it is not allowed. */
  read(raw: unknown): T | undefined
  /** Completes "X is Y, allowed: …". */
  readonly allowed: string
  /** In `--help`: `<duration>`. Empty for a switch. */
  readonly placeholder: string
  /** As one would write it. */
  write(value: T): string
  /** May be given more than once. */
  readonly many?: boolean
}

/** Any text of 1 to `max` characters. */
export function text(placeholder: string, max = 1_024): Kind<string> {
  return {
    placeholder,
    allowed: `a text of 1 to ${max} characters`,
    read: raw => (typeof raw === 'string' && raw.length >= 1 && raw.length <= max ? raw : undefined),
    write: value => value
  }
}

/** A text, or nothing. */
export function optionalText(placeholder: string): Kind<string | undefined> {
  return { ...text(placeholder), write: value => value ?? '' }
}

/** In milliseconds once read. */
export function duration(minMs = 0, maxMs = 2 ** 31): Kind<number> {
  return {
    placeholder: 'duration',
    allowed: `${DURATION_ALLOWED}, from ${writeDuration(minMs)}${maxMs < 2 ** 31 ? ` to ${writeDuration(maxMs)}` : ''}`,
    read: raw => within(typeof raw === 'string' ? parseDuration(raw) : raw === 0 ? 0 : undefined, minMs, maxMs),
    write: writeDuration
  }
}

/** A duration in milliseconds, or nothing. */
export function optionalDuration(minMs = 0): Kind<number | undefined> {
  return { ...duration(minMs), write: value => (value === undefined ? '' : writeDuration(value)) }
}

/** A whole number, both ends included. */
export function integer(min: number, max: number): Kind<number> {
  return {
    placeholder: 'n',
    allowed: `a whole number from ${min} to ${max}`,
    read: raw => {
      const value = numeric(raw)
      return Number.isSafeInteger(value) ? within(value, min, max) : undefined
    },
    write: String
  }
}

/** Any number, both ends included. */
export function number(min: number, max: number): Kind<number> {
  return {
    placeholder: 'number',
    allowed: `a number from ${min} to ${max}`,
    read: raw => within(numeric(raw), min, max),
    write: String
  }
}

/** A number, or nothing. */
export function optionalNumber(min: number, max: number): Kind<number | undefined> {
  return { ...number(min, max), write: value => (value === undefined ? '' : String(value)) }
}

/** `true` or `false`; a flag alone means true. */
export const toggle: Kind<boolean> = {
  placeholder: '',
  allowed: 'true or false',
  read: raw => {
    const value = typeof raw === 'string' ? raw.toLowerCase() : raw
    if (value === true || value === 'true' || value === '1' || value === 'yes') {
      return true
    }
    return value === false || value === 'false' || value === '0' || value === 'no' ? false : undefined
  },
  write: String
}

/** Several texts: repeated, or separated by commas; an array in the file. */
export function list(placeholder: string, allowed: string, accepts: (item: string) => boolean): Kind<readonly string[]> {
  return {
    placeholder,
    allowed,
    many: true,
    read: raw => {
      const items = (Array.isArray(raw) ? raw : [raw]).flatMap(item => (typeof item === 'string' ? item.split(',') : [item]))
      const trimmed = items.map(item => (typeof item === 'string' ? item.trim() : item)).filter(item => item !== '')
      return trimmed.every(item => typeof item === 'string' && accepts(item)) ? (trimmed as string[]) : undefined
    },
    write: value => value.join(',')
  }
}

/** One of a closed set of words. */
export function choice<W extends string>(placeholder: string, known: readonly W[]): Kind<W> {
  return {
    placeholder,
    allowed: known.join(' or '),
    read: raw => known.find(word => word === raw),
    write: String
  }
}

/** Some of a closed set of words, or `none`. */
export function words<W extends string>(placeholder: string, known: readonly W[]): Kind<readonly W[]> {
  const inner = list(placeholder, `none, all, or some of ${known.join(', ')}`, item => ['none', 'all', ...known].includes(item))
  return {
    ...inner,
    read: raw => {
      const items = inner.read(raw)
      if (items === undefined || (items.length > 1 && (items.includes('none') || items.includes('all')))) {
        return undefined
      }
      return items.includes('all') ? known : (items.filter(item => item !== 'none') as W[])
    },
    write: value => (value.length === 0 ? 'none' : value.join(','))
  }
}

function numeric(raw: unknown): number | undefined {
  if (typeof raw === 'string') {
    return /^-?\d+(\.\d+)?$/.test(raw.trim()) ? Number(raw) : undefined
  }
  return typeof raw === 'number' ? raw : undefined
}

const within = (value: number | undefined, min: number, max: number): number | undefined =>
  value !== undefined && value >= min && value <= max ? value : undefined
