/** The clients' process: watchers and joiners on sockets of their own. Answers each order when it is done. */
import { setTimeout as sleep } from 'node:timers/promises'
import { FanOutCount } from './gateway-fan-out.ts'
import { type FanOut, FIRST_JOIN, TOPIC, type ToClients } from './gateway-protocol.ts'
import { CheapSocket } from './gateway-socket.ts'

/** Handshakes under way at one time. */
const OPENING = 100
const PATIENCE_MS = 60_000

const watchers: CheapSocket[] = []
const joiners: CheapSocket[] = []
const opened = { watcher: 0, joiner: 0 }
/** Watchers that have their first list. */
let watching = 0
let joined = 0
let count: FanOutCount | undefined

process.on('disconnect', () => process.exit())
process.on('message', async (order: ToClients) => {
  if (order.do === 'open') {
    await open(order.port, 'watcher', watchers, order.watchers)
    await open(order.port, 'joiner', joiners, order.joiners)
    process.send?.('done')
  } else if (order.do === 'watch') {
    await watch()
    process.send?.('done')
  } else {
    process.send?.(await join(order.joins, order.perSecond))
  }
})

async function open(port: number, role: 'watcher' | 'joiner', sockets: CheapSocket[], total: number): Promise<void> {
  while (sockets.length < total) {
    const index = sockets.length
    sockets.push(
      new CheapSocket(port, `/socket/websocket?vsn=2.0.0&user=${role}-${index}&session=${role}-${index}`, {
        open: () => void opened[role]++,
        text: role === 'watcher' ? (bytes, start, end) => heard(index, bytes, start, end) : () => undefined,
        read: byteCount => {
          if (role === 'watcher' && count !== undefined) {
            count.bytes += byteCount
          }
        },
        closed: why => {
          throw new Error(`${role} ${index} was closed: ${why}`)
        }
      })
    )
    await until('sockets are open', () => opened[role] > sockets.length - OPENING)
  }
  await until('all sockets are open', () => opened[role] === total)
}

function heard(watcher: number, bytes: Buffer, start: number, end: number): void {
  if (count !== undefined) {
    count.read(watcher, bytes, start, end, performance.now())
  } else if (bytes.subarray(start, end).includes('"presence_state"')) {
    watching++
  }
}

async function watch(): Promise<void> {
  for (const [index, watcher] of watchers.entries()) {
    watcher.send(JSON.stringify(['1', '1', TOPIC, 'phx_join', { presence: { watch: 'list', present: false } }]))
    await until('watchers have their list', () => watching > index - OPENING)
  }
  await until('all watchers have their list', () => watching === watchers.length)
}

/** So many of the joiners join, one after the other. */
async function join(joins: number, perSecond: number): Promise<FanOut> {
  const first = joined
  const counting = new FanOutCount(FIRST_JOIN + first, joins, watchers.length)
  count = counting
  const startMs = performance.now()
  while (joined < first + joins) {
    const dueMs = startMs + ((joined - first) * 1_000) / perSecond
    if (dueMs > performance.now()) {
      await sleep(1)
      continue
    }
    counting.sent(joined - first, performance.now())
    const payload = { n: FIRST_JOIN + joined, name: 'A person', presence: { watch: 'none' } }
    joiners[joined++]?.send(JSON.stringify(['1', '1', TOPIC, 'phx_join', payload]))
  }
  const endMs = performance.now() + PATIENCE_MS
  while (!counting.complete && performance.now() < endMs) {
    await sleep(1)
  }
  count = undefined
  return counting.result(startMs)
}

async function until(what: string, holds: () => boolean): Promise<void> {
  const endMs = performance.now() + PATIENCE_MS
  while (!holds()) {
    if (performance.now() > endMs) {
      throw new Error(`waited ${PATIENCE_MS / 1_000} s in vain until ${what}`)
    }
    await sleep(1)
  }
}
