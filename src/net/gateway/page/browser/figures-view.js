// @ts-check
import { byId, setAttribute, setText } from './dom.js'
import { number, plural } from './format.js'

/** @import { ClusterState } from '../messages.ts' */

/** The numbers at the top, the title, and what has to be said of the cluster as a whole. */
export class FiguresView {
  /** @param {ClusterState} state */
  show(state) {
    const { users, presences, topics, connections } = state
    const all = state.replicas.length + state.replicasOmitted
    const notUp = state.replicas.filter(({ status }) => status !== 'up').length
    setText(byId('figure-replicas'), `${number(all - notUp)} of ${number(all)}`)
    setAttribute(byId('figure-replicas'), 'data-bad', String(notUp > 0))
    setText(byId('figure-agree'), agreement(state))
    setText(byId('figure-users'), number(users))
    setText(byId('figure-presences'), number(presences))
    setText(byId('figure-topics'), number(topics))
    setText(byId('figure-connections'), number(connections))
    document.title = notUp > 0 ? `(${notUp} not up) Rollcall` : 'Rollcall'
    const notices = this.#notices(state)
    setText(byId('notice'), notices.join(' '))
    byId('notice').hidden = notices.length === 0
  }

  /**
   * @param {ClusterState} state
   * @returns {string[]}
   */
  #notices({ isolated, partial, gateway }) {
    const notices = []
    if (isolated) {
      notices.push('This replica is isolated: most others vanished at once, so it holds their presences for a while.')
    }
    if (partial) {
      notices.push('This replica became ready without the state of every other: lists may lack presences.')
    }
    if (gateway.behind) {
      notices.push(`${plural(gateway.behind, 'socket')} here cannot keep up, and will get the newest state later.`)
    }
    return notices
  }
}

/**
 * Of the replicas that are up: how many held what is held here.
 *
 * @param {ClusterState} state
 */
function agreement({ replicas, self }) {
  const asked = replicas.filter(({ id, status, agrees }) => id !== self && status === 'up' && agrees !== null)
  const same = asked.filter(({ agrees }) => agrees).length
  return asked.length === 0 ? '–' : `${number(same + 1)} of ${number(asked.length + 1)}`
}
