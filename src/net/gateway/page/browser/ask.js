// @ts-check

/** @import { Channel } from './phoenix.mjs' */

/**
 * Rejects with the reason of the server, or when there is no answer in time.
 *
 * @template T
 * @param {Channel} channel
 * @param {string} event
 * @param {object} payload
 * @returns {Promise<T>}
 */
export function ask(channel, event, payload) {
  return new Promise((resolve, reject) => {
    channel
      .push(event, payload)
      .receive('ok', resolve)
      .receive('error', (/** @type {{ reason?: string } | undefined} */ answer) => reject(new Error(answer?.reason ?? 'it was refused')))
      .receive('timeout', () => reject(new Error('there was no answer in time')))
  })
}

/**
 * Of calls in quick succession only the last is made.
 *
 * @param {() => void} run
 * @param {number} [afterMs]
 * @returns {() => void}
 */
export function soon(run, afterMs = 200) {
  let timer = 0
  return () => {
    clearTimeout(timer)
    timer = window.setTimeout(run, afterMs)
  }
}
