import type { Life } from './life.ts'
import { USERS_TOPIC } from './names.ts'
import type { TrackerStats } from './types.ts'

/** What a tracker holds, in numbers: for metrics, and for tests of what is left behind. */
export function statsOf(life: Life): TrackerStats {
  return {
    ...life.cluster.stats(),
    entries: life.map.count,
    ownEntries: life.connections.own.size,
    lingering: life.connections.own.pending,
    connections: life.connections.size,
    topics: life.index.shownTopics,
    topicNodes: life.index.size,
    users: life.index.find(USERS_TOPIC)?.shownKeys ?? 0,
    origins: life.view.origins.size,
    changeLog: life.log.size,
    topicWatches: life.topics.size,
    userWatches: life.users.size,
    lastSeen: life.lastSeen.size,
    waiting: life.waiting.size,
    snapshotsBuilt: life.topics.snapshotsBuilt,
    isolated: Number(life.cluster.isolated),
    pauses: life.pulse.pauses,
    pulseLagMs: life.pulse.lagMs
  }
}
