// @ts-check
import { Socket } from './phoenix.mjs'
import { newSession, session, token } from './session.js'

/**
 * `connecting`: at first, and after a loss. `open`. `away`: nobody answers; it is tried again. `busy`: the server takes nobody now; it is tried again.
 * `refused`: the server wants to know who we are.
 *
 * @typedef {'connecting' | 'open' | 'away' | 'busy' | 'refused'} ConnectionState
 */

/** A browser does not say why a WebSocket failed: the server is asked, at most so often. */
const ASK_MS = 2_000

/**
 * @param {string} path
 * @param {(state: ConnectionState) => void} tell
 * @returns {Socket}
 */
export function connect(path, tell) {
  const known = token()
  const options = { params: () => ({ session: session() }), ...(known !== undefined && { authToken: known }) }
  const socket = new Socket(path, options)
  let askedMs = Number.NEGATIVE_INFINITY

  const findOut = async () => {
    if (performance.now() - askedMs < ASK_MS) {
      return
    }
    askedMs = performance.now()
    const state = await askWhy(path, known)
    if (socket.isConnected()) {
      return
    }
    if (state === 'refused') {
      socket.disconnect()
    }
    tell(state)
  }

  socket.onOpen(() => tell('open'))
  socket.onClose(event => {
    if (event.reason === 'taken over') {
      // A duplicate of this tab has our session. There are no presences to keep.
      newSession()
    }
    tell('connecting')
    void findOut()
  })
  socket.connect()
  return socket
}

/**
 * By a long poll, whose answer can be read.
 *
 * @param {string} path
 * @param {string | undefined} known
 * @returns {Promise<ConnectionState>}
 */
async function askWhy(path, known) {
  try {
    const response = await fetch(`${path}/longpoll?vsn=2.0.0`, {
      ...(known !== undefined && { headers: { authorization: `Bearer ${known}` } }),
      signal: AbortSignal.timeout(10_000)
    })
    if (!response.ok) {
      // Long polls are switched off: it answers, so what it did not take is who we are.
      return response.status === 404 ? 'refused' : 'busy'
    }
    const { status } = await response.json()
    return status === 403 ? 'refused' : status === 410 ? 'connecting' : 'busy'
  } catch {
    return 'away'
  }
}
