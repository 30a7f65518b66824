import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { generateKeyPair, privateKeyFromProtobuf, privateKeyToProtobuf } from '@libp2p/crypto/keys'
import type { PrivateKey } from '@libp2p/interface'
import { messageOf, UsageError } from './errors.ts'

/**
 * Reads the private key of a replica (libp2p's protobuf encoding, base64), or makes one that only its user can read.
 *
 * @throws UsageError when the file holds no key, or cannot be written.
 */
export async function readOrMakeIdentity(path: string): Promise<PrivateKey> {
  if (existsSync(path)) {
    try {
      return privateKeyFromProtobuf(Buffer.from(readFileSync(path, 'utf8').trim(), 'base64'))
    } catch (error) {
      throw new UsageError(`--identity ${path} holds no private key (${messageOf(error)}); remove it to have a new one made`)
    }
  }
  const key = await generateKeyPair('Ed25519')
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    writeFileSync(path, `${Buffer.from(privateKeyToProtobuf(key)).toString('base64')}\n`, { mode: 0o600 })
    chmodSync(path, 0o600)
  } catch (error) {
    throw new UsageError(`cannot write ${path}: ${messageOf(error)}; give a path that can be written to with --identity`)
  }
  return key
}

/** Makes the key when there is none; returns the replica's id. */
export async function makeIdentity(path: string): Promise<string> {
  const key = await readOrMakeIdentity(path)
  return key.publicKey.toString()
}
