import type { Tracker } from '../../../tracker/types.ts'
import type { ResolvedGatewayOptions } from '../options.ts'
import type { Tally } from '../tally.ts'
import type { Audience } from './audience.ts'

/** What a feed is made of. */
export interface FeedInit {
  readonly tracker: Tracker
  readonly topic: string
  readonly options: ResolvedGatewayOptions
  readonly tally: Tally
  /** The tracker has stopped, or the watch has failed: nothing comes any more. */
  readonly ended: (error: unknown) => void
}

/** What is told of one topic, to all clients here that watch it so. */
export interface Feed {
  readonly audience: Audience
  /** Whether its watchers are shown a sample. */
  readonly isSampled: boolean
  /** From time to time. */
  tick(): void
  close(): void
}
