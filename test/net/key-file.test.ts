import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createReplica } from '../../src/net/libp2p/index.ts'
import { loadOrCreateKey } from '../../src/net/libp2p/key-file.ts'

let folder = ''

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rollcall-key-'))
})

afterEach(() => rm(folder, { recursive: true }))

describe('key file', () => {
  it('a new path: makes a key that only its owner can read, folders included, and gives the same one from then on', async () => {
    const path = join(folder, 'deep', 'key')
    const made = await loadOrCreateKey(path)
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect((await loadOrCreateKey(path)).equals(made)).toBe(true)
    expect(await readdir(join(folder, 'deep'))).toEqual(['key'])
  })

  it('twenty that start at once: all use one key, and no other file is left', async () => {
    const path = join(folder, 'key')
    const keys = await Promise.all(Array.from({ length: 20 }, () => loadOrCreateKey(path)))
    expect(new Set(keys.map(key => key.publicKey.toString())).size).toBe(1)
    expect(await readdir(folder)).toEqual(['key'])
  })

  it('a file that others can read, one that is no key, a folder: refused with the path, nothing written', async () => {
    const path = join(folder, 'key')
    await loadOrCreateKey(path)
    await chmod(path, 0o644)
    await expect(loadOrCreateKey(path)).rejects.toMatchObject({
      name: 'KeyFileError',
      code: 'ERR_KEY_FILE',
      path,
      message: expect.stringMatching(/0644, allowed is 0600/)
    })
    await writeFile(path, 'nonsense')
    await chmod(path, 0o600)
    await expect(loadOrCreateKey(path)).rejects.toThrow(/its 8 bytes are no libp2p private key/)
    expect(await readFile(path, 'utf8')).toBe('nonsense')
    await expect(loadOrCreateKey(folder)).rejects.toMatchObject({ code: 'ERR_KEY_FILE' })
  })

  it('a replica with a key file: has the same id after a restart', async () => {
    const keyFile = join(folder, 'key')
    const first = await createReplica({ keyFile })
    await first.stop()
    const second = await createReplica({ keyFile })
    expect(second.id).toBe(first.id)
    expect(second.id).toBe(second.node.peerId.toString())
    await second.stop()
  })

  it('a key file and a key: refused', async () => {
    const privateKey = await loadOrCreateKey(join(folder, 'key'))
    await expect(createReplica({ keyFile: 'x', privateKey })).rejects.toThrow(/keyFile and privateKey are both given/)
  })
})
