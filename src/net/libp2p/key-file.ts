import { randomBytes } from 'node:crypto'
import { link, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { generateKeyPair, privateKeyFromProtobuf, privateKeyToProtobuf } from '@libp2p/crypto/keys'
import type { PrivateKey } from '@libp2p/interface'
import { KeyFileError } from './errors.ts'

/**
 * The private key of a replica, from `path`; a new Ed25519 key is made there when there is none. Its peer id is the replica's id, so the
 * file is what makes a replica the same after a restart. Two live processes must not share one.
 *
 * The file appears whole or not at all, readable by its owner only (0600), also when several processes start at once: one key wins, and all
 * of them use it.
 *
 * @throws KeyFileError when the file holds no key, is readable by others, or cannot be read or written.
 */
export async function loadOrCreateKey(path: string): Promise<PrivateKey> {
  try {
    return (await load(path)) ?? (await create(path))
  } catch (error) {
    throw error instanceof KeyFileError ? error : new KeyFileError(path, (error as Error).message, error)
  }
}

async function load(path: string): Promise<PrivateKey | undefined> {
  let bytes: Uint8Array
  try {
    bytes = await readFile(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return undefined
    }
    throw error
  }
  const { mode } = await stat(path)
  if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
    throw new KeyFileError(path, `its mode is 0${(mode & 0o777).toString(8)}, allowed is 0600: others could read the key`)
  }
  try {
    return privateKeyFromProtobuf(bytes)
  } catch (error) {
    throw new KeyFileError(path, `its ${bytes.byteLength} bytes are no libp2p private key`, error)
  }
}

async function create(path: string): Promise<PrivateKey> {
  const key = await generateKeyPair('Ed25519')
  await mkdir(dirname(path), { recursive: true })
  const temporary = `${path}.${process.pid}.${randomBytes(6).toString('hex')}`
  try {
    await writeFile(temporary, privateKeyToProtobuf(key), { mode: 0o600, flag: 'wx', flush: true })
    // Unlike a rename, a link fails where another process was first.
    await link(temporary, path)
    return key
  } catch (error) {
    const theirs = (error as NodeJS.ErrnoException).code === 'EEXIST' ? await load(path) : undefined
    if (theirs === undefined) {
      throw error
    }
    return theirs
  } finally {
    await rm(temporary, { force: true })
  }
}
