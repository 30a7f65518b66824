// @ts-check
import { byId, create, KeyedRows, setText } from './dom.js'
import { duration, number, plural } from './format.js'
import { Presence } from './phoenix.mjs'

/**
 * @import { TopicCount } from '../../../../tracker/types.ts'
 * @import { Row } from './dom.js'
 * @import { Channel, Socket } from './phoenix.mjs'
 */

/**
 * @typedef {{ readonly key: string, readonly metas: readonly Readonly<Record<string, unknown>>[] }} Member
 * @typedef {{ readonly mode: 'full' | 'interval', readonly sample?: number, readonly interval_ms?: number }} Mode
 */

const MAX_ROWS = 200
/** Changes within it are shown at once. */
const REDRAW_MS = 100

/** Who is in a topic: an ordinary client of it, that watches and is not present. */
export class TopicView {
  /** Called when another topic is chosen. */
  onChange = () => {}
  /** @type {() => Socket} */
  #socket
  /** @type {KeyedRows<Member>} */
  #rows
  /** @type {Channel | undefined} */
  #channel
  /** @type {Presence | undefined} */
  #presence
  /** @type {Mode} */
  #mode = { mode: 'full' }
  /** @type {TopicCount | undefined} */
  #count
  #refusal = ''
  #redraw = 0
  /** @type {string | undefined} */
  name

  /** @param {() => Socket} socket */
  constructor(socket) {
    this.#socket = socket
    this.#rows = new KeyedRows(byId('member-rows'), ({ key }) => key, makeRow)
    byId('topic-close').addEventListener('click', () => this.close())
  }

  /**
   * @param {string} topic
   * @param {boolean} [focus]
   */
  open(topic, focus = false) {
    if (topic !== this.name) {
      this.close()
      this.name = topic
      this.#join(topic)
      this.#render()
      this.onChange()
    }
    if (focus) {
      byId('topic-name').focus()
    }
  }

  close() {
    clearTimeout(this.#redraw)
    this.#redraw = 0
    this.#channel?.leave()
    this.#channel = undefined
    this.#presence = undefined
    this.#mode = { mode: 'full' }
    this.#count = undefined
    this.#refusal = ''
    this.name = undefined
    this.#render()
    this.onChange()
  }

  /** @param {string} topic */
  #join(topic) {
    const channel = this.#socket().channel(topic, { presence: { watch: 'list', present: false } })
    const presence = new Presence(channel)
    this.#channel = channel
    this.#presence = presence
    presence.onSync(() => this.#soon())
    channel.on('presence_mode', (/** @type {Mode} */ mode) => {
      this.#mode = mode
      this.#soon()
    })
    channel.on('presence_count', (/** @type {TopicCount} */ count) => {
      this.#count = count
      this.#soon()
    })
    channel
      .join()
      .receive('ok', () => {
        this.#refusal = ''
        this.#soon()
      })
      .receive('error', (/** @type {{ reason?: string }} */ { reason }) => {
        this.#refusal = reason ?? 'no reason was given'
        this.#soon()
      })
  }

  #soon() {
    if (this.#redraw === 0) {
      this.#redraw = window.setTimeout(() => {
        this.#redraw = 0
        this.#render()
      }, REDRAW_MS)
    }
  }

  #render() {
    const isOpen = this.name !== undefined
    byId('topic-none').hidden = isOpen
    byId('topic-open').hidden = !isOpen
    setText(byId('topic-name'), this.name ?? '')
    /** @type {Member[]} */
    const members = this.#presence?.list((key, { metas }) => ({ key, metas })) ?? []
    members.sort((a, b) => (a.key < b.key ? -1 : 1))
    this.#rows.show(members.slice(0, MAX_ROWS))
    setText(byId('topic-said'), this.#said(members))
  }

  /** @param {readonly Member[]} members */
  #said(members) {
    if (this.#refusal !== '') {
      return `You may not see who is in it: ${this.#refusal}.`
    }
    if (this.#presence?.inPendingSyncState()) {
      return 'loading'
    }
    const { mode, interval_ms: everyMs = 0 } = this.#mode
    if (mode === 'interval' && this.#count !== undefined) {
      const { keys, presences } = this.#count
      const whole = `${plural(keys, 'key')}, ${plural(presences, 'presence')}`
      return `${whole}. So large or lively that ${number(members.length)} of them stand for all, every ${duration(everyMs)}.`
    }
    const presences = members.reduce((sum, { metas }) => sum + metas.length, 0)
    const first = members.length > MAX_ROWS ? `; the first ${number(MAX_ROWS)} are shown` : ''
    return `${plural(members.length, 'key')}, ${plural(presences, 'presence')}, live${first}`
  }
}

/**
 * @param {Member} member
 * @returns {Row<Member>}
 */
function makeRow({ key }) {
  const devices = create('td', { class: 'number' })
  const metas = create('td', { class: 'metas' })
  return {
    node: create('tr', {}, create('th', { scope: 'row' }, key), devices, metas),
    update: member => {
      setText(devices, number(member.metas.length))
      setText(metas, member.metas.map(metaText).join('\n'))
    }
  }
}

/** @param {Readonly<Record<string, unknown>>} meta */
function metaText({ phx_ref: _, phx_ref_prev: __, ...meta }) {
  const text = JSON.stringify(meta)
  return text === '{}' ? '–' : text
}
