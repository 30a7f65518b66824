// @ts-check
import { byId, create, KeyedRows, setAttribute, setText } from './dom.js'
import { duration, number, shortId } from './format.js'

/**
 * @import { ClusterState, ReplicaRow } from '../messages.ts'
 * @import { Row } from './dom.js'
 */

/** Told apart by shape and word, not by colour alone. */
const SHAPES = { up: '●', suspect: '▲', down: '■' }
const HASH_DIGITS = 8

export class ReplicasView {
  /** @type {KeyedRows<ReplicaRow>} */
  #rows
  #self = ''
  /** @type {ReadonlyMap<string, string> | undefined} */
  #statuses

  constructor() {
    this.#rows = new KeyedRows(
      byId('replica-rows'),
      ({ id }) => id,
      replica => this.#makeRow(replica)
    )
  }

  /** @param {ClusterState} state */
  show({ replicas, replicasOmitted, self }) {
    this.#self = self
    this.#rows.show([...replicas].sort((a, b) => Number(b.id === self) - Number(a.id === self) || (a.id < b.id ? -1 : 1)))
    const omitted = byId('replicas-omitted')
    omitted.hidden = replicasOmitted === 0
    setText(omitted, `${number(replicasOmitted)} more are up.`)
    this.#announce(replicas)
  }

  /** @param {readonly ReplicaRow[]} replicas */
  #announce(replicas) {
    const statuses = new Map(replicas.map(({ id, status }) => [id, status]))
    const before = this.#statuses
    this.#statuses = statuses
    if (before === undefined) {
      return
    }
    const changes = []
    for (const [id, status] of statuses) {
      if (before.get(id) !== status) {
        changes.push(`Replica ${shortId(id)} is ${status}.`)
      }
    }
    for (const id of before.keys()) {
      if (!statuses.has(id)) {
        changes.push(`Replica ${shortId(id)} is gone.`)
      }
    }
    if (changes.length > 0) {
      setText(byId('announcer'), changes.join(' '))
    }
  }

  /**
   * @param {ReplicaRow} replica
   * @returns {Row<ReplicaRow>}
   */
  #makeRow({ id }) {
    const isSelf = id === this.#self
    const name = create('th', { scope: 'row', title: id }, create('code', {}, shortId(id)))
    if (isSelf) {
      name.append(' ', create('span', { class: 'tag' }, 'this one'))
    }
    const shape = create('span', { class: 'shape', 'aria-hidden': 'true' })
    const word = create('span')
    const code = create('code')
    const status = cell('Status', 'status', shape, word)
    const phi = cell('φ', 'number')
    const lag = cell('Lag', 'number')
    const events = cell('Events', 'number')
    const agrees = cell('Same state')
    const node = create('tr', {}, name, status, phi, lag, events, cell('State hash', '', code), agrees)
    return {
      node,
      update: replica => {
        setAttribute(node, 'data-status', replica.status)
        setText(shape, SHAPES[replica.status])
        setText(word, replica.silentMs > 0 ? `${replica.status}, silent for ${duration(replica.silentMs)}` : replica.status)
        setText(phi, isSelf ? '–' : phiText(replica.phi))
        setText(lag, replica.lagMs === 0 ? '–' : duration(replica.lagMs))
        setText(events, number(replica.head))
        setText(code, replica.hash?.slice(0, HASH_DIGITS) ?? 'loading')
        setAttribute(code, 'title', replica.hash ?? 'its state is still being transferred')
        setText(agrees, agreement(replica))
      }
    }
  }
}

/**
 * @param {string} label
 * @param {string} [kind]
 * @param {...Node} children
 */
function cell(label, kind = '', ...children) {
  return create('td', { 'data-label': label, class: kind }, ...children)
}

/** @param {number} phi */
function phiText(phi) {
  return phi >= 999 ? '> 999' : phi.toFixed(1)
}

/** @param {ReplicaRow} replica */
function agreement({ status, agrees }) {
  return agrees === null || status === 'down' ? '–' : agrees ? '✓ yes' : '≠ not at its last heartbeat'
}
