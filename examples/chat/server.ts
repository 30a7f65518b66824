// A chat room on two replicas: node examples/chat/server.ts
// One replica per process: … --port 4001, then … --port 4002 --peers ADDRESS, where the first one prints its address.
import { readFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
// In an app of your own: from 'rollcall/gateway' and 'rollcall/libp2p'.
import { allow, attachGateway } from '../../src/net/gateway/index.ts'
import { createReplica } from '../../src/net/libp2p/index.ts'

const string = { type: 'string', multiple: true } as const
const { port = ['4001', '4002'], peers = [] } = parseArgs({ options: { port: string, peers: string } }).values
const stops = [] as (() => Promise<void>)[]

const files = new Map([
  ['/', { type: 'text/html', url: new URL('index.html', import.meta.url) }],
  ['/client.js', { type: 'text/javascript', url: new URL('client.js', import.meta.url) }],
  ['/phoenix.js', { type: 'text/javascript', url: new URL(import.meta.resolve('phoenix')) }]
])

const serveFile: RequestListener = async (request, response) => {
  const file = files.get(request.url ?? '')
  if (file === undefined) {
    response.writeHead(404).end()
  } else {
    response.setHeader('content-type', `${file.type}; charset=utf-8`).end(await readFile(file.url))
  }
}

for (const each of port) {
  const replica = await createReplica({ cluster: 'chat', bootstrap: peers, graceMs: 5_000 })
  const server = createServer(serveFile)
  const gateway = attachGateway(server, replica.presence, {
    // Believes everybody. For real users: authenticateJwt.
    authenticate: ({ params: { name } }) => (name ? { user: name } : null),
    authorize: ({ topic, action, payload }) =>
      topic === 'room:lobby' && (action === 'watch' || allow({ meta: { saying: String(payload.saying ?? '').slice(0, 200) } }))
  })
  server.listen(Number(each), '127.0.0.1', () =>
    console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port} is replica --peers ${replica.addresses()[0]}`)
  )
  peers.push(...replica.addresses())
  stops.push(async () => {
    // Everybody is told to go elsewhere; who does within the grace was never away.
    await gateway.drain()
    await gateway.stop()
    await replica.stop()
  })
}

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => Promise.all(stops.map(stop => stop())).then(() => process.exit()))
}
