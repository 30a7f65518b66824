/**
 * What one frame may hold at most. Past a limit the frame is refused as a whole, by the encoder as by the decoder.
 *
 * A column of one value costs no bytes per row, so the row limits, not the frame's size, bound what a small hostile frame
 * can make a receiver allocate: with the defaults a few MB, for the moment until the frame is merged or refused.
 */
export interface FrameLimits {
  /** The encoded frame, in bytes. Default 65,536. */
  readonly frameBytes: number
  /**
   * All texts of a frame, in bytes where they are written out, and again in characters for each entry that has them. Default 1,048,576;
   * frames that are filled by the sizes that `entryBytes` estimates stay far below.
   */
  readonly textBytes: number
  /** Entries over all intervals of a delta. Default 8,192. */
  readonly adds: number
  /** Marks over all intervals of a delta. Default 16,384. */
  readonly marks: number
  /** Replaced owners over all entries of a delta. Default 8,192. */
  readonly overs: number
  /** Replaced owners of one entry. Default 256. */
  readonly oversPerEntry: number
  /** Intervals of a delta. Default 1,024. */
  readonly intervals: number
  /** Origins in a digest. Default 4,096. */
  readonly digestEntries: number
  /** Requests of a pull or a hello. Default 4,096. */
  readonly requests: number
  /** Counters that a heartbeat relays. Default 4,096. */
  readonly relayed: number
  /** Distinct replica ids, and distinct replica refs, in a frame. Default 4,096 each. */
  readonly replicas: number
  /** A topic, key or user, in bytes of UTF-8. Default 1,024. */
  readonly nameBytes: number
  /** A replica id or a cluster's name, in bytes of UTF-8, at least 1. Default 384: as many as an id of 128 UTF-16 code units can have. */
  readonly idBytes: number
  /** A meta as JSON, in bytes of UTF-8. Default 65,536. */
  readonly metaBytes: number
}

export const DEFAULT_FRAME_LIMITS: FrameLimits = Object.freeze({
  frameBytes: 65_536,
  textBytes: 1_048_576,
  adds: 8_192,
  marks: 16_384,
  overs: 8_192,
  oversPerEntry: 256,
  intervals: 1_024,
  digestEntries: 4_096,
  requests: 4_096,
  relayed: 4_096,
  replicas: 4_096,
  nameBytes: 1_024,
  idBytes: 384,
  metaBytes: 65_536
})

/** The defaults with the given limits in their place; `undefined` means the default. */
export function resolveFrameLimits(limits: Partial<FrameLimits> | undefined): FrameLimits {
  if (limits === undefined) {
    return DEFAULT_FRAME_LIMITS
  }
  const given = Object.entries(limits).filter(([, value]) => value !== undefined)
  return { ...DEFAULT_FRAME_LIMITS, ...Object.fromEntries(given) }
}
