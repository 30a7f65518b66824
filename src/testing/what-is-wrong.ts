import type { Client } from './client.ts'
import { listingOf } from './engine.ts'
import type { SimReplica } from './simulated-replica.ts'

/** What running replicas list against what clients want, one line each; undefined when it is the same everywhere. */
export function whatIsWrong(replicas: readonly SimReplica[], clients: readonly Client[]): string | undefined {
  const wanted = clients.flatMap(wishesOf)
  const online = new Set(clients.filter(client => client.present).map(client => client.user))
  const wrong = replicas
    .filter(replica => replica.state === 'running')
    .flatMap(replica => {
      const listed = listedBy(replica)
      return [
        ...without(listed, wanted).map(line => `${replica.name} lists, nobody wants: ${line}`),
        ...without(wanted, listed).map(line => `${replica.name} does not list: ${line}`),
        ...[...new Set(replica.tracker.users()).symmetricDifference(online)].map(user => `${replica.name} is wrong about user ${user}`)
      ]
    })
  return wrong.length === 0 ? undefined : wrong.join('\n')
}

function wishesOf(client: Client): string[] {
  return client.present
    ? client.topics.map(topic => `${topic} ${client.user} ${JSON.stringify(client.metaOf(topic))} at ${client.link?.replica.id}`)
    : []
}

function listedBy(replica: SimReplica): string[] {
  return [...listingOf(replica.tracker)].flatMap(([topic, presences]) =>
    presences.map(({ key, meta, replica: at }) => `${topic} ${key} ${JSON.stringify(meta)} at ${at}`)
  )
}

/** Those of `ones` that are not among `others`; of equal ones as many as there are more. */
function without(ones: readonly string[], others: readonly string[]): string[] {
  const left = [...others]
  return ones.filter(one => {
    const at = left.indexOf(one)
    if (at >= 0) {
      left.splice(at, 1)
    }
    return at < 0
  })
}
