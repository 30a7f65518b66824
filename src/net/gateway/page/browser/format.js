// @ts-check

const NUMBERS = new Intl.NumberFormat('en')
const TIMES = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' })

/** Ids longer than this are shortened. */
const WHOLE_ID = 14
const TAIL = 8

/**
 * `12345` is `12,345`.
 *
 * @param {number} value
 */
export function number(value) {
  return NUMBERS.format(value)
}

/**
 * `1 topic`, `2 topics`.
 *
 * @param {number} count
 * @param {string} noun
 */
export function plural(count, noun) {
  return `${number(count)} ${noun}${count === 1 ? '' : 's'}`
}

/**
 * The time of day.
 *
 * @param {number} ms since 1970
 */
export function timeOfDay(ms) {
  return TIMES.format(ms)
}

/**
 * `850 ms`, `12 s`, `5 min`, `3 h`, `2 d`.
 *
 * @param {number} ms
 */
export function duration(ms) {
  if (ms < 1_000) {
    return `${Math.round(ms)} ms`
  }
  if (ms < 10_000) {
    return `${Math.floor(ms / 100) / 10} s`
  }
  if (ms < 120_000) {
    return `${Math.floor(ms / 1_000)} s`
  }
  if (ms < 7_200_000) {
    return `${Math.floor(ms / 60_000)} min`
  }
  return ms < 172_800_000 ? `${Math.floor(ms / 3_600_000)} h` : `${Math.floor(ms / 86_400_000)} d`
}

/**
 * Peer ids begin alike and differ at their ends.
 *
 * @param {string} id
 */
export function shortId(id) {
  return id.length <= WHOLE_ID ? id : `…${id.slice(-TAIL)}`
}
