import { type Multiaddr, multiaddr } from '@multiformats/multiaddr'
import type { ReplicaId } from '../../crdt/dot.ts'
import { InvalidOptionsError } from '../../tracker/errors.ts'

/** Addresses kept per member. Further ones are ignored. */
export const ADDRESSES_PER_MEMBER = 8
/** An address as text is at most so long; longer ones are ignored. */
const ADDRESS_LENGTH_MAX = 256

/** Where a member is said to be. */
export interface MemberAddress {
  /** Undefined for a bare address: who answers there is not known before it is dialled. */
  readonly id: ReplicaId | undefined
  /** Without the id. */
  readonly address: string
}

/** @throws InvalidOptionsError naming the address when it is no multiaddr, or one that goes through a relay. */
export function parseBootstrap(text: string): MemberAddress {
  try {
    const parsed = split(multiaddr(text))
    if (parsed !== undefined) {
      return parsed
    }
  } catch {
    // Falls through to the error below, which says more than the parser's.
  }
  throw new InvalidOptionsError(
    `bootstrap holds ${JSON.stringify(text)}, allowed are direct multiaddrs such as /dns4/host/tcp/7946 or /ip4/10.0.0.7/tcp/7946/p2p/<peer id>`
  )
}

/** What others say of `id`'s addresses, as far as it is usable: direct, short, for this id, not too many. */
export function usableAddresses(id: ReplicaId, addresses: Iterable<Multiaddr>): string[] {
  const usable: string[] = []
  for (const address of addresses) {
    const parsed = split(address)
    if (parsed !== undefined && (parsed.id === undefined || parsed.id === id) && !usable.includes(parsed.address)) {
      usable.push(parsed.address)
    }
    if (usable.length === ADDRESSES_PER_MEMBER) {
      break
    }
  }
  return usable
}

/** Only this host can be at the other end. Names, such as /dns4/localhost, are not looked up and count as no. */
export function isLoopback(address: Multiaddr): boolean {
  const first = address.getComponents()[0]
  switch (first?.name) {
    case 'ip4':
      return first.value?.startsWith('127.') === true
    case 'ip6':
      return first.value === '::1'
    case 'unix':
    case 'memory':
      return true
    default:
      return false
  }
}

function split(address: Multiaddr): MemberAddress | undefined {
  const components = address.getComponents()
  if (components.length === 0 || components.some(component => component.name === 'p2p-circuit')) {
    return undefined
  }
  const last = components[components.length - 1]
  const id = last?.name === 'p2p' ? last.value : undefined
  const bare = id === undefined ? address.toString() : address.decapsulate(`/p2p/${id}`).toString()
  return bare.length < 2 || bare.length > ADDRESS_LENGTH_MAX ? undefined : { id, address: bare }
}
