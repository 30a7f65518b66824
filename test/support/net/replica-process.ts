/** A replica in a process of its own: `node replica-process.ts '{ …ReplicaOptions }'`. Says where it is; lists one presence. */
import { createReplica } from '../../../src/net/libp2p/index.ts'

const { presence, addresses } = await createReplica(JSON.parse(process.argv[2] ?? '{}'))
presence.connect('user:child', { session: 'child' }).track('room', { pid: process.pid })
process.stdout.write(`${addresses()[0]}\n`)
