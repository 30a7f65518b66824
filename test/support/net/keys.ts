import { generateKeyPair } from '@libp2p/crypto/keys'
import type { PrivateKey } from '@libp2p/interface'
import { peerIdFromPrivateKey } from '@libp2p/peer-id'

export interface NamedKey {
  readonly id: string
  readonly privateKey: PrivateKey
}

/** New keys, in the order of their ids: of two replicas the earlier one opens the links. */
export async function keysInOrder(count: number): Promise<NamedKey[]> {
  const keys = await Promise.all(Array.from({ length: count }, () => generateKeyPair('Ed25519')))
  const named = keys.map(privateKey => ({ id: peerIdFromPrivateKey(privateKey).toString(), privateKey }))
  return named.sort((a, b) => (a.id < b.id ? -1 : 1))
}
