import type { Registry } from './clients/registry.ts'
import type { Feeds } from './feeds/feeds.ts'
import type { Permissions } from './rights/permissions.ts'
import type { CloseReason, Refusal, Tally } from './tally.ts'
import type { GatewayStats } from './types.ts'

export interface StatsSources {
  readonly clients: Registry
  readonly feeds: Feeds
  readonly permissions: Permissions
  readonly tally: Tally
}

/** Every number of a gateway. Those that only grow end in no unit: docs/gateway.md lists them. */
export function readStats({ clients, feeds, permissions, tally }: StatsSources): GatewayStats {
  let channels = 0
  let behind = 0
  let bufferedBytes = 0
  for (const client of clients) {
    channels += client.channels
    behind += Number(client.isBehind)
    bufferedBytes += client.bufferedBytes
  }
  const { refused: _refused, closed: _closed, ...counts } = tally
  return {
    sockets: clients.size,
    channels,
    behind,
    bufferedBytes,
    feeds: feeds.size,
    sampledFeeds: feeds.sampled,
    watchers: feeds.watchers,
    rememberedAnswers: permissions.size,
    ...counts,
    ...prefixed('refused', tally.refused),
    ...prefixed('closed', tally.closed)
  }
}

/** `refused.origin`, `closed.slow` and so on: those that happened. */
function prefixed(prefix: string, counts: ReadonlyMap<Refusal | CloseReason, number>): Record<string, number> {
  return Object.fromEntries([...counts].map(([reason, count]) => [`${prefix}.${reason}`, count]))
}
