import { multiaddr } from '@multiformats/multiaddr'
import { choice, duration, integer, list, number, optionalNumber, optionalText, text, toggle, words } from './setting-kinds.ts'
import { FAULT_KINDS } from './sim/faults.ts'
import { TUNING } from './tuning.ts'

const FIND = 'Which replica:'
const CLUSTER = 'Cluster:'
const GATEWAY = 'Gateway:'
const RUN = 'Run:'
const OUTPUT = 'Output:'

const isAddress = (item: string): boolean => {
  try {
    return multiaddr(item).getComponents().length > 0
  } catch {
    return false
  }
}

/** Where `serve` puts its control file, and where the other commands look for it. */
const LOCATE = {
  name: { kind: text('name', 64), fallback: 'main', group: FIND, help: 'the name of the replica on this machine' },
  state: { kind: optionalText('dir'), fallback: undefined, group: FIND, help: 'directory of control files and keys' }
} as const

/** Every command that asks a running replica. */
export const CLIENT = {
  ...LOCATE,
  control: { kind: optionalText('host:port'), fallback: undefined, group: FIND, help: "the replica's control API, instead of --name" },
  token: { kind: optionalText('text'), fallback: undefined, group: FIND, help: 'the token of that control API', hidden: true },
  timeout: { kind: duration(1), fallback: 5_000, group: FIND, help: 'how long to wait for an answer' },
  json: { kind: toggle, fallback: false, group: OUTPUT, help: 'one JSON document (watch: one a line) instead of a table' }
} as const

const isOrigin = (item: string): boolean => item === '*' || URL.parse(item)?.origin === item

/** Browsers and other clients, at `serve`. */
const GATEWAYS = {
  gateway: {
    kind: text('host:port'),
    fallback: '127.0.0.1:7480',
    group: GATEWAY,
    help: 'where browsers connect and see the live page; port 0 for any; none for no gateway'
  },
  gatewayAuth: {
    kind: choice('how', ['open', 'jwt']),
    fallback: 'open',
    group: GATEWAY,
    help: 'open: everybody may do everything, on the loopback only; jwt: what a signed token says'
  },
  jwtSecretFile: {
    kind: optionalText('file'),
    fallback: undefined,
    group: GATEWAY,
    help: 'with jwt: the secret of HS256, 32 bytes or more'
  },
  jwtPublicKey: {
    kind: optionalText('file'),
    fallback: undefined,
    group: GATEWAY,
    help: 'with jwt, instead of a secret: the public key (PEM) of RS256, ES256, ES384, ES512 or EdDSA'
  },
  jwtIssuer: { kind: optionalText('text'), fallback: undefined, group: GATEWAY, help: 'with jwt: what iss has to be' },
  jwtAudience: { kind: optionalText('text'), fallback: undefined, group: GATEWAY, help: 'with jwt: what aud has to name' },
  origins: {
    kind: list('origin', 'origins such as https://app.example, without a path, or *', isOrigin),
    fallback: [],
    group: GATEWAY,
    help: 'whose web pages may connect besides the live page; by default those of the host that is asked; * for all'
  }
} as const

/** `rollcall serve`. */
export const SERVE = {
  cluster: { kind: text('name', 64), fallback: 'rollcall', group: CLUSTER, help: 'only replicas of the same cluster talk to each other' },
  secret: { kind: optionalText('text'), fallback: undefined, group: CLUSTER, help: 'authenticates resume tokens', hidden: true },
  listen: {
    kind: list('multiaddr', 'multiaddrs such as /ip4/0.0.0.0/tcp/7400', isAddress),
    fallback: ['/ip4/127.0.0.1/tcp/0'],
    group: CLUSTER,
    help: 'where other replicas reach this one'
  },
  peers: {
    kind: list('multiaddr', 'multiaddrs such as /ip4/10.0.0.2/tcp/7400/p2p/12D3KooW…', isAddress),
    fallback: [],
    group: CLUSTER,
    help: 'replicas to dial at the start; one that lives is enough'
  },
  allow: {
    kind: list('peer id', 'peer ids such as 12D3KooW…', item => /^[1-9A-HJ-NP-Za-km-z]{40,64}$/.test(item)),
    fallback: [],
    group: CLUSTER,
    help: 'the only replicas to admit'
  },
  swarmKey: { kind: optionalText('file'), fallback: undefined, group: CLUSTER, help: 'pre-shared key of the whole cluster (libp2p pnet)' },
  mdns: { kind: toggle, fallback: false, group: CLUSTER, help: 'find replicas of the same network by multicast' },
  identity: { kind: optionalText('file'), fallback: undefined, group: CLUSTER, help: 'private key of this replica; made when missing' },
  control: {
    kind: text('host:port'),
    fallback: '127.0.0.1:7470',
    group: FIND,
    help: 'where the control API listens, loopback only; port 0 for any'
  },
  log: { kind: words('format', ['text', 'json']), fallback: ['text'], group: OUTPUT, help: 'how events are printed: text, json, or none' },
  ...GATEWAYS,
  ...LOCATE,
  ...TUNING
} as const

/** `rollcall sim`. */
export const SIM = {
  replicas: { kind: integer(2, 32), fallback: 3, group: RUN, help: 'how many replicas, each its own process' },
  for: { kind: duration(1_000), fallback: 30_000, group: RUN, help: 'how long the workload is driven; settling comes after' },
  trace: { kind: optionalText('file'), fallback: undefined, group: RUN, help: 'replay this CSV (ms,topic,user,event; .gz too)' },
  speed: {
    kind: optionalNumber(0.001, 1e9),
    fallback: undefined,
    group: RUN,
    help: 'times faster than the trace; without it the trace is fitted into --for'
  },
  sample: { kind: number(0.0001, 1), fallback: 1, group: RUN, help: 'the share of users to keep, 0.1 for every tenth' },
  users: { kind: integer(1, 1_000_000), fallback: 500, group: RUN, help: 'without --trace: how many users there are' },
  rate: { kind: number(0.1, 100_000), fallback: 100, group: RUN, help: 'without --trace: joins and leaves per second, on average' },
  faults: {
    kind: words('kinds', FAULT_KINDS),
    fallback: ['kill', 'pause', 'cut'],
    group: RUN,
    help: `what goes wrong: some of ${FAULT_KINDS.join(', ')}; all; or none`
  },
  faultEvery: { kind: duration(500), fallback: 8_000, group: RUN, help: 'one fault in so long, on average' },
  seed: { kind: integer(0, 2 ** 32 - 1), fallback: 1, group: RUN, help: 'same seed, same users, same faults at the same times' },
  out: { kind: text('dir'), fallback: 'rollcall-sim', group: OUTPUT, help: 'directory for report.html and report.json' },
  json: { kind: toggle, fallback: false, group: OUTPUT, help: 'print report.json to standard output, nothing else' },
  ...TUNING
} as const

/** `rollcall demo`. */
export const DEMO = {
  for: { kind: duration(1_000), fallback: 0, group: RUN, help: 'end by itself after so long, with status 0; without it Ctrl-C ends it' },
  users: { kind: integer(3, 200), fallback: 24, group: RUN, help: 'how many people come and go' },
  seed: { kind: integer(0, 2 ** 32 - 1), fallback: 1, group: RUN, help: 'same seed, same people' },
  plain: { kind: toggle, fallback: false, group: OUTPUT, help: 'plain lines even on a terminal' }
} as const

/** Every name that a configuration file may hold. */
export const ALL_NAMES: readonly string[] = [...new Set([CLIENT, SERVE, SIM, DEMO].flatMap(table => Object.keys(table)))]
