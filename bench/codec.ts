import { OrMap } from '../src/crdt/index.ts'
import { encodeMessage } from '../src/net/codec.ts'
import type { Delta, Message } from '../src/tracker/messages.ts'
import type { BenchOptions, Row } from './harness.ts'
import { atLeast, atMost, median, row, timeMs } from './harness.ts'
import { IDLE_HEARTBEAT, leaves, MessageSource, NO_META, richMeta, SENDER, type Sessions } from './support/wire-messages.ts'
import { ENCODINGS, type Encoding } from './support/wire-peers.ts'

export const name = 'codec'
export const description = 'the wire: bytes per join, leave and heartbeat, rates to encode, decode and merge; beside JSON and msgpackr'

const BATCH = 100
const LARGE_BATCH = 1_000

export async function run({ quick }: BenchOptions): Promise<Row[]> {
  return [...joinRows(), ...leaveRows(), ...frameRows(), ...rateRows(NO_META, quick), ...rateRows(`of ${richMeta(0).length} B`, quick)]
}

function joinRows(): Row[] {
  const rows: Row[] = []
  for (const sessions of ['tracker', 'client'] as const) {
    const source = new MessageSource(sessions, () => NO_META, 20_000)
    const made = `sessions made by the ${sessions}`
    const joins = source.joins(BATCH)
    const [ours, ...peers] = ENCODINGS.map(encoding => bytesRow(`join, 100 in a frame, ${made}: ${encoding.name}`, encoding, joins, BATCH))
    rows.push(atMost(ours as Row, 20), ...peers, ...peers.map(peer => ratioRow(peer, ours as Row)))
    const connects = bytesRow(
      `connect + join of one session, 100 in a frame, ${made}`,
      ENCODINGS[0] as Encoding,
      source.connects(BATCH),
      BATCH
    )
    rows.push(connects)
  }
  return rows
}

function leaveRows(): Row[] {
  const scattered = leaves(BATCH, 10_000, 'scattered')
  const [ours, ...peers] = ENCODINGS.map(encoding => bytesRow(`leave, 100 of 10,000 live: ${encoding.name}`, encoding, scattered, BATCH))
  const contiguous = bytesRow('leave, 100 neighbours of 10,000 live', ENCODINGS[0] as Encoding, leaves(BATCH, 10_000, 'contiguous'), BATCH)
  return [atMost(ours as Row, 4), ...peers, ...peers.map(peer => ratioRow(peer, ours as Row)), contiguous]
}

/** Whole frames. The sender's PeerId is known from the stream; relayed state names its owner, which costs 54 bytes once a frame. */
function frameRows(): Row[] {
  const join = (sessions: Sessions, meta: string): Delta => new MessageSource(sessions, () => meta, 20_000).joins(1)
  return [
    atMost(frameRow('frame of one join', join('client', NO_META)), 80),
    frameRow('frame of one join, relayed: its owner is named', join('client', NO_META), ''),
    frameRow(`frame of one join with ${richMeta(0).length} B of meta`, join('client', richMeta(7))),
    frameRow('frame of a connect and a join', new MessageSource('client', () => NO_META, 20_000).connects(1)),
    frameRow('frame of one leave', leaves(1, 10_000, 'scattered')),
    atMost(frameRow('frame of an idle heartbeat', IDLE_HEARTBEAT), 32),
    frameRow('frame of an idle heartbeat, counter and head 2^28 − 1', { ...IDLE_HEARTBEAT, counter: 2 ** 28 - 1, head: 2 ** 28 - 1 }),
    row('digest of 100 replicas, per replica', 'B', [encodeMessage(digestOf(100), { sender: SENDER.id }).length / 100])
  ]
}

/** Encodings take turns, so that neither the compiler's warm-up nor a neighbour's load favours one of them. */
function rateRows(meta: string, quick: boolean): Row[] {
  const source = new MessageSource('client', meta === NO_META ? () => NO_META : richMeta)
  const deltas = Array.from({ length: quick ? 5 : 20 }, () => source.joins(LARGE_BATCH))
  const rates = ENCODINGS.map(() => ({ encode: [] as number[], decode: [] as number[], merge: [] as number[] }))
  const repetitions = quick ? 3 : 9
  for (let repetition = -2; repetition < repetitions; repetition++) {
    ENCODINGS.forEach((encoding, i) => {
      const sample = measure(encoding, deltas)
      if (repetition >= 0) {
        rates[i]?.encode.push(sample.encode)
        rates[i]?.decode.push(sample.decode)
        rates[i]?.merge.push(sample.merge)
      }
    })
  }
  return (['encode', 'decode', 'merge'] as const).flatMap(step => {
    const title = step === 'merge' ? 'decoded and merged' : `${step}d`
    const rows = ENCODINGS.map((encoding, i) =>
      row(`joins ${title}, 1,000 a batch, meta ${meta}: ${encoding.name}`, 'joins/s', rates[i]?.[step] ?? [])
    )
    const ours = rows[0] as Row
    const barred = step === 'merge' && meta === NO_META ? atLeast(ours, 200_000) : ours
    return [barred, ...rows.slice(1), ...rows.slice(1).map(peer => ratioRow(ours, peer))]
  })
}

function measure(encoding: Encoding, deltas: readonly Delta[]): { encode: number; decode: number; merge: number } {
  const joins = deltas.length * LARGE_BATCH
  let frames: Uint8Array[] = []
  const encodeMs = timeMs(() => {
    frames = deltas.map(delta => encoding.encode(delta))
  })
  const decodeMs = timeMs(() => {
    for (const frame of frames) {
      encoding.decode(frame)
    }
  })
  const map = new OrMap({ self: { id: 'receiver', incarnation: 1 } })
  const mergeMs = timeMs(() => {
    for (const frame of frames) {
      for (const interval of encoding.decode(frame).intervals) {
        map.merge(interval)
      }
    }
  })
  if (map.count !== joins) {
    throw new Error(`${encoding.name}: ${map.count} entries were merged of ${joins}`)
  }
  const perSecond = (ms: number): number => (joins / ms) * 1_000
  return { encode: perSecond(encodeMs), decode: perSecond(decodeMs), merge: perSecond(mergeMs) }
}

function bytesRow(title: string, encoding: Encoding, delta: Delta, events: number): Row {
  return row(title, 'B', [encoding.encode(delta).length / events])
}

function frameRow(title: string, message: Message, sender = SENDER.id): Row {
  return row(title, 'B', [encodeMessage(message, { sender }).length])
}

/** How many times the first is the second. */
function ratioRow(first: Row, second: Row): Row {
  return { name: `  ${first.name} / ${second.name.split(': ').at(-1)}`, value: median([first.value / second.value]), unit: '×' }
}

function digestOf(replicas: number): Message {
  const entries = Array.from({ length: replicas }, (_, i) => ({
    replica: {
      id: `12D3KooW${Buffer.alloc(33, `replica ${i * 7_919}`).toString('base64url')}`,
      incarnation: SENDER.incarnation + 1_000_003 * i
    },
    shard: 0,
    head: 10_000 + 37 * i,
    hash: { high: (i * 0x9e3779b9) >>> 0, low: (i * 0x85ebca6b) >>> 0 },
    floor: 0,
    graceMs: 15_000
  }))
  return { type: 'digest', entries, unreached: [], reply: false }
}
