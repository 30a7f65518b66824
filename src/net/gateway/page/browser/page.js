// @ts-check
import { connect } from './connection.js'
import { byId, setAttribute, setText } from './dom.js'
import { EventsView } from './events-view.js'
import { FiguresView } from './figures-view.js'
import { timeOfDay } from './format.js'
import { ReplicasView } from './replicas-view.js'
import { signIn, signOut, token } from './session.js'
import { TopicView } from './topic-view.js'
import { TopicsView } from './topics-view.js'
import { UsersView } from './users-view.js'

/**
 * @import { ClusterState, TailBatch } from '../messages.ts'
 * @import { ConnectionState } from './connection.js'
 * @import { Channel, Socket } from './phoenix.mjs'
 */

/** @type {Readonly<Record<ConnectionState, string>>} */
const STATES = {
  connecting: 'connecting',
  open: 'live',
  away: 'the server does not answer; trying again',
  busy: 'the server takes nobody now; trying again',
  refused: 'not signed in'
}

/** @type {Socket} */
let socket
/** @type {number | undefined} */
let lastMs

/** @param {ConnectionState} state */
function show(state) {
  setAttribute(byId('connection'), 'data-state', state)
  const asOf = state === 'open' || lastMs === undefined ? '' : `; as of ${timeOfDay(lastMs)}`
  setText(byId('connection-text'), STATES[state] + asOf)
  byId('live').classList.toggle('stale', state !== 'open')
  if (state === 'refused') {
    askToSignIn(token() === undefined ? 'This replica lets nobody in without a token.' : 'The token was not accepted.')
  } else if (state === 'open') {
    byId('sign-in').hidden = true
  }
}

/** @param {string} why */
function askToSignIn(why) {
  const form = byId('sign-in')
  setText(byId('sign-in-why'), why)
  showLive(false)
  if (form.hidden) {
    form.hidden = false
    byId('token').focus()
  }
}

/** @param {boolean} isShown */
function showLive(isShown) {
  byId('live').hidden = !isShown
  byId('sections').hidden = !isShown
}

function listenToForms() {
  byId('sign-in').addEventListener('submit', event => {
    event.preventDefault()
    const { value } = /** @type {HTMLInputElement} */ (byId('token'))
    if (/^[\x21-\x7e]+$/.test(value.trim())) {
      signIn(value.trim())
    } else {
      setText(byId('sign-in-why'), 'A token has no spaces, and only letters, digits and signs of ASCII.')
    }
  })
  byId('sign-out').addEventListener('click', signOut)
  byId('sign-out').hidden = token() === undefined
}

/** @param {Channel} cluster */
function follow(cluster) {
  const topic = new TopicView(() => socket)
  const topics = new TopicsView(cluster, topic)
  const users = new UsersView(cluster, topic)
  const replicas = new ReplicasView()
  const figures = new FiguresView()
  const events = new EventsView()
  cluster.on('cluster', (/** @type {ClusterState} */ state) => {
    lastMs = state.atMs
    showLive(true)
    byId('sign-in').hidden = true
    figures.show(state)
    replicas.show(state)
    topics.show(state)
    users.refresh()
  })
  document.addEventListener('visibilitychange', () => {
    topics.refresh()
    users.refresh()
  })
  cluster.on('events', (/** @type {TailBatch} */ batch) => events.add(batch))
  cluster
    .join()
    .receive('ok', (/** @type {{ user?: string }} */ { user }) => setText(byId('user'), user === undefined ? '' : `signed in as ${user}`))
    .receive('error', (/** @type {{ reason?: string }} */ { reason }) => {
      askToSignIn(`Who you are is known, but you may not see the cluster: ${reason ?? 'no reason was given'}.`)
    })
}

const path = document.querySelector('meta[name="rollcall-socket"]')?.getAttribute('content') ?? '/socket'
listenToForms()
for (const region of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('.scroll'))) {
  // Not every browser lets the keyboard into what scrolls.
  region.tabIndex = 0
}
socket = connect(path, show)
follow(socket.channel('rollcall:cluster', { presence: { watch: 'list', present: false } }))
