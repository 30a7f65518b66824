import { execFile } from 'node:child_process'
import { createServer } from 'node:net'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { root } from '../support/project.ts'

/** A program that tries to start a replica, says why it could not, and has nothing else to do. Fails when it does not end by itself. */
async function refusal(listen: string): Promise<string> {
  const program = `
    import { createReplica } from '${root}src/net/libp2p/index.ts'
    try { await createReplica({ listen: ['${listen}'] }) } catch (error) { console.log(error.name) }`
  const run = promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], { timeout: 60_000 })
  return (await run).stdout.trim()
}

it('a replica that is refused its start leaves nothing running: the program ends by itself', async () => {
  expect(await refusal('/ip4/0.0.0.0/tcp/0')).toBe('AdmissionRequiredError')
})

it('nor does one whose port is taken', async () => {
  const taken = createServer()
  await new Promise<void>(resolve => taken.listen(0, '127.0.0.1', resolve))
  const { port } = taken.address() as { port: number }
  expect(await refusal(`/ip4/127.0.0.1/tcp/${port}`)).toBe('UnsupportedListenAddressesError')
  taken.close()
})
