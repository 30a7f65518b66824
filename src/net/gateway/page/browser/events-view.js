// @ts-check
import { byId, create, setAttribute, setText } from './dom.js'
import { number, shortId, timeOfDay } from './format.js'

/** @import { TailBatch, TailEvent, TailKind } from '../messages.ts' */

/** Lines on the page, and events that wait while it is paused. */
const MAX_LINES = 200

/**
 * An event, or that some were missed.
 *
 * @typedef {Omit<TailEvent, 'id' | 'kind'> & { readonly kind: TailKind | 'gap' }} Line
 */

/** @type {Readonly<Record<Line['kind'], { readonly sign: string, readonly group: 'presence' | 'user' | 'replica' | 'gap' }>>} */
const KINDS = {
  join: { sign: '+', group: 'presence' },
  leave: { sign: '−', group: 'presence' },
  update: { sign: '~', group: 'presence' },
  online: { sign: '●', group: 'user' },
  offline: { sign: '○', group: 'user' },
  up: { sign: '●', group: 'replica' },
  suspect: { sign: '▲', group: 'replica' },
  down: { sign: '■', group: 'replica' },
  permdown: { sign: '✕', group: 'replica' },
  duplicate: { sign: '‼', group: 'replica' },
  diverged: { sign: '≠', group: 'replica' },
  isolated: { sign: '▲', group: 'replica' },
  rejoined: { sign: '●', group: 'replica' },
  gap: { sign: '…', group: 'gap' }
}

/** What happened, newest first. It can be made to stand still. */
export class EventsView {
  #list = byId('event-rows')
  #pause = byId('events-pause')
  #isPaused = false
  /** @type {Line[]} */
  #waiting = []
  #omitted = 0
  #tail = 0
  #lastId = -1

  constructor() {
    const show = /** @type {HTMLSelectElement} */ (byId('events-show'))
    const choose = () => setAttribute(this.#list, 'data-show', show.value)
    show.addEventListener('change', choose)
    choose()
    this.#pause.addEventListener('click', () => {
      this.#isPaused = !this.#isPaused
      this.#render()
    })
    this.#say()
  }

  /** @param {TailBatch} batch */
  add({ tail, first, events, omitted }) {
    const isOther = tail !== this.#tail
    const lastId = isOther ? -1 : this.#lastId
    const news = first ? events.filter(({ id }) => id > lastId) : events
    // What is listed already stays, though other events happened between it and these.
    const isGap = this.#tail !== 0 && (isOther || (news[0]?.id ?? lastId + 1) > lastId + 1)
    this.#tail = tail
    this.#lastId = news.at(-1)?.id ?? lastId
    const gap = isGap ? [{ atMs: news[0]?.atMs ?? Date.now(), kind: /** @type {const} */ ('gap') }] : []
    this.#waiting = [...this.#waiting, ...gap, ...news].slice(-MAX_LINES)
    this.#omitted += omitted
    this.#render()
  }

  #render() {
    if (!this.#isPaused && this.#waiting.length > 0) {
      this.#list.prepend(...this.#waiting.reverse().map(lineOf))
      this.#waiting = []
      while (this.#list.childElementCount > MAX_LINES) {
        this.#list.lastElementChild?.remove()
      }
    }
    setAttribute(this.#pause, 'aria-pressed', String(this.#isPaused))
    this.#say()
  }

  #say() {
    const waiting = this.#waiting.length === MAX_LINES ? `${number(MAX_LINES)} or more` : number(this.#waiting.length)
    const said = []
    if (this.#isPaused) {
      said.push(`paused; ${waiting} wait`)
    } else if (this.#list.childElementCount === 0) {
      said.push('nothing has happened yet')
    }
    if (this.#omitted > 0) {
      said.push(`${number(this.#omitted)} came too fast to be listed`)
    }
    setText(byId('events-said'), said.join('; '))
  }
}

/** @param {Line} event */
function lineOf(event) {
  const { sign, group } = KINDS[event.kind]
  const time = create('time', { datetime: new Date(event.atMs).toISOString() }, timeOfDay(event.atMs))
  const mark = create('span', { class: 'sign', 'aria-hidden': 'true' }, sign)
  return create('li', { 'data-group': group, 'data-kind': event.kind }, time, mark, create('span', { class: 'what' }, ...words(event)))
}

/**
 * @param {Line} event
 * @returns {(Node | string)[]}
 */
function words({ kind, topic = '', key = '', user = '', replica = '', reason }) {
  const on = create('code', { title: replica }, shortId(replica))
  const because = reason === undefined ? '' : ` (${reason})`
  switch (kind) {
    case 'join':
      return [name(key), ' joined ', name(topic), ' on ', on]
    case 'leave':
      return [name(key), ' left ', name(topic), because, ' on ', on]
    case 'update':
      return [name(key), ' in ', name(topic), ' changed on ', on]
    case 'online':
    case 'offline':
      return [name(user), ` is ${kind}`]
    case 'isolated':
      return ['this replica is isolated: leaves are held']
    case 'rejoined':
      return ['this replica is isolated no more']
    case 'gap':
      return ['what happened before this was missed']
    default:
      return ['replica ', on, ` ${REPLICA_WORDS[kind]}${because}`]
  }
}

const REPLICA_WORDS = {
  up: 'is up',
  suspect: 'is suspect',
  down: 'is down',
  permdown: 'was dropped for good',
  duplicate: 'runs twice under one id',
  diverged: 'was held wrongly here, and is loaded again'
}

/** @param {string} text */
function name(text) {
  return create('b', {}, text)
}
